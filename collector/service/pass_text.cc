// SPDX-License-Identifier: Apache-2.0
#include "collector/service/pass_text.h"

#include <fmt/format.h>

#include "collector/base/print_line.h"
#include "collector/model/rank_set.h"
#include "collector/service/watch_state.h"

namespace rollcall::service {

std::string PassText(const PassFacts& facts, const Report& report) {
  using Outcome = DiagnosisSchedule::Outcome;
  std::string text = fmt::format(
      "{}: read the records of {}; ",
      facts.reason == Reason::kNone ? "a diagnosis was requested" : ReasonText(facts.reason),
      CountText(report.ranks, "rank"));
  const std::string limit =
      fmt::format("{:.3g} s", static_cast<double>(facts.stall_after_ns) / 1e9);
  if (report.findings.empty()) {
    text += "nothing found";
    const bool continues = facts.reason == Reason::kSomeWait;
    return continues ? text + "; a rank is called stalled after " + limit : text;
  }
  const Finding& first = report.findings.front();
  text += CertaintyName(first.certainty);
  if (facts.outcome == Outcome::kPending) {
    text += fmt::format(", waits {} ms for further ranks", facts.delay_ns / 1'000'000);
  } else if (facts.outcome == Outcome::kNothing) {
    text += ", not printed before " + limit + " without progress";
  }
  return text + ": " + first.title;
}

std::function<void(const std::string&)> PassPrinter(bool verbose) {
  if (!verbose) return {};
  return [](const std::string& text) { PrintLine("diagnosis: " + text); };
}

}  // namespace rollcall::service
