// SPDX-License-Identifier: Apache-2.0
// The verdict.
#include <fmt/format.h>

#include <algorithm>

#include "collector/diagnosis/wording/values.h"
#include "collector/diagnosis/wording/waiting_set.h"
#include "collector/matching/match_rules.h"
#include "collector/matching/user_code.h"
#include "collector/page/panels.h"
#include "collector/report/names.h"
#include "collector/report/stacks.h"

namespace rollcall::page {
namespace {

constexpr size_t kMaxFindings = 24;
constexpr size_t kMaxSites = 12;
constexpr size_t kMaxFrames = 64;
constexpr size_t kMaxNotes = 24;

Json Source(const TextOptions& text, const SourceFrame& frame) {
  Json lines = Json::array();
  if (!text.excerpt || frame.line == 0) return lines;
  for (const ExcerptLine& line : text.excerpt(frame.file, {frame.line}).lines) {
    lines.push_back({{"number", line.line_no}, {"text", Text(line.text)}, {"marked", line.marked}});
  }
  return lines;
}

std::string Place(const SourceFrame& frame) {
  const std::string place = FramePlace(frame);
  return place == "?" ? "" : Text(place);
}

// The frames of a site. For ranks outside every call: the live stack of the first rank that has
// one.
std::vector<const SourceFrame*> FramesOf(const Trace& trace, const Finding& finding,
                                         const Site& site) {
  if (!site.live) return rollcall::FramesOf(trace, site.call_path);
  for (const uint32_t process : ProcessesOf(trace, finding, site.ranks)) {
    const std::vector<LiveStack>& stacks = trace.processes[process].live_stacks;
    if (!stacks.empty()) return rollcall::FramesOf(stacks.front());
  }
  return {};
}

Json Stack(const std::vector<const SourceFrame*>& frames) {
  Json stack = Json::array();
  for (size_t i = 0; i < std::min(frames.size(), kMaxFrames); ++i) {
    const SourceFrame& frame = *frames[i];
    stack.push_back({{"function", Text(frame.function)},
                     {"place", Place(frame)},
                     {"user", !IsFrameworkFrame(frame)}});
  }
  return stack;
}

Json SiteOf(const Trace& trace, const Finding& finding, const TextOptions& text, const Site& site) {
  return {{"ranks", Ranks(site.ranks)},         {"role", site.culprit ? "culprit" : "waiting"},
          {"state", RoleName(site.role)},       {"call", Text(site.what)},
          {"place", Place(site.frame)},         {"function", Text(site.frame.function)},
          {"source", Source(text, site.frame)}, {"stack", Stack(FramesOf(trace, finding, site))}};
}

Json FindingOf(const Trace& trace, const Finding& finding, const TextOptions& text) {
  Json json;
  json["kind"] = KindName(finding.kind);
  json["certainty"] = CertaintyName(finding.certainty);
  json["kind_certainty"] = CertaintyName(finding.kind_certainty);
  json["hangs"] = finding.hangs;
  json["culprits"] = Ranks(finding.culprits);
  json["waiting"] = Ranks(finding.waiting);
  json["communicator"] =
      finding.communicator == kNoIndex ? "" : Text(trace.communicators[finding.communicator].name);
  json["operation"] = finding.operation == Operation::kNone ? "" : OperationName(finding.operation);
  json["sequence"] = finding.sequence == 0 ? Json() : Json(finding.sequence);
  json["title"] = Text(finding.title);
  json["why"] = Text(finding.why);
  json["fix"] = Text(FixText(finding));
  json["notes"] = Json::array();
  for (size_t i = 0; i < std::min(finding.notes.size(), kMaxNotes); ++i) {
    json["notes"].push_back(Text(finding.notes[i]));
  }
  json["values"] = Json::array();
  const std::vector<std::string> values = ValueTexts(finding);
  for (size_t i = 0; i < std::min(values.size(), kMaxNotes); ++i) {
    json["values"].push_back(Text(values[i]));
  }
  json["sites"] = Json::array();
  for (size_t i = 0; i < std::min(finding.sites.size(), kMaxSites); ++i) {
    json["sites"].push_back(SiteOf(trace, finding, text, finding.sites[i]));
  }
  return json;
}

}  // namespace

Json Findings(const Analysis& analysis, const Report& report, const TextOptions& text,
              std::vector<std::string>* left_out) {
  Json findings = Json::array();
  const size_t shown = std::min(report.findings.size(), kMaxFindings);
  size_t sites = 0;
  for (size_t i = 0; i < shown; ++i) {
    const Finding& finding = report.findings[i];
    findings.push_back(FindingOf(analysis.trace, finding, text));
    sites += finding.sites.size() - std::min(finding.sites.size(), kMaxSites);
  }
  if (shown < report.findings.size()) {
    left_out->push_back(fmt::format("{} further findings", report.findings.size() - shown));
  }
  if (sites != 0) left_out->push_back(fmt::format("{} further places of the findings", sites));
  return findings;
}

}  // namespace rollcall::page
