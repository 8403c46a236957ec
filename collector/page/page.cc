// SPDX-License-Identifier: Apache-2.0
#include "collector/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "collector/page/panels.h"
#include "collector/report/names.h"

namespace rollcall {
namespace {

std::string Time(int64_t ns) {
  const auto seconds = static_cast<time_t>(ns / 1'000'000'000);
  std::tm time;
  char text[64];
  if (ns == kNoTime || gmtime_r(&seconds, &time) == nullptr) return "";
  return {text, strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &time)};
}

page::Json Texts(const std::vector<std::string>& texts) {
  constexpr size_t kMaxTexts = 200;
  page::Json array = page::Json::array();
  for (size_t i = 0; i < std::min(texts.size(), kMaxTexts); ++i) {
    array.push_back(page::Text(texts[i]));
  }
  if (texts.size() > kMaxTexts) {
    array.push_back(fmt::format("… and {} more", texts.size() - kMaxTexts));
  }
  return array;
}

}  // namespace

nlohmann::ordered_json PageData(const AnalyzedTrace& analyzed, const Report& report,
                                const TextOptions& text, const std::string& version) {
  const Analysis& analysis = analyzed.analysis;
  std::vector<std::string> left_out;
  page::Calls calls(analysis);
  const WaitPicture picture = WaitPictureOf(analysis, report);
  const int64_t begin_ns = page::TimelineBegin(analysis, picture);
  const std::vector<uint32_t> shown = page::ShownCommunicators(analysis, report, &left_out);
  page::Json data;
  data["format"] = "rollcall-report";
  data["version"] = 1;
  data["rollcall"] = version;
  data["status"] = StatusName(report.status);
  data["ranks"] = report.ranks;
  data["ranks_expected"] = report.ranks_expected;
  data["hosts"] = report.hosts;
  data["no_progress_ns"] =
      report.no_progress_ns < 0 ? page::Json() : page::Json(report.no_progress_ns);
  data["taken_at"] = Time(analysis.trace.taken_at_ns);
  data["begin_ns"] = begin_ns;
  data["findings"] = page::Findings(analysis, report, text, &left_out);
  data["notes"] = Texts(report.notes);
  page::Json communicators =
      page::Communicators(analysis, report, shown, begin_ns, &calls, &left_out);
  page::Json timeline = page::Timeline(analysis, picture, begin_ns, &calls);
  if (calls.full())
    left_out.emplace_back("some calls: they differ in too many arguments or places");
  data["calls"] = calls.Take();
  data["communicators"] = std::move(communicators);
  data["graph"] = page::Graph(picture);
  data["stacks"] = page::Stacks(analysis);
  data["timeline"] = std::move(timeline);
  data["stragglers"] = page::Stragglers(analysis, shown);
  data["difference"] = page::Difference(analysis, report);
  data["looked_at"] = page::LookedAt(analysis, report);
  data["left_out"] = Texts(left_out);
  return data;
}

}  // namespace rollcall
