// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/invalid-argument.md
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"
#include "collector/model/rejections.h"

namespace rollcall {
namespace {

// "MPI_Bcast #2 on MPI_COMM_WORLD"; without the number for calls that have none.
std::string CallName(const Analysis& analysis, const Event& event) {
  std::string text = CallText(analysis, event, false);
  if (event.member == kNoIndex) return text;
  return fmt::format("{} on {}", text, analysis.CommunicatorName(analysis.CommunicatorOf(event)));
}

}  // namespace

std::optional<Finding> JudgeInvalidArgument(const Analysis& analysis, const Incident& incident,
                                            const Divergence&) {
  if (incident.what != Incident::What::kRejected) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kInvalidArgument, true);
  const RejectedCall& first = *incident.Of<EndDetails>().rejected.front();
  const ErrorClassInfo error = InfoOf(first.error);
  std::vector<std::string> values;
  std::string allowed;
  for (const RejectedCall* call : incident.Of<EndDetails>().rejected) {
    auto bad = FindBadArgument(analysis.trace, call->event, call->error);
    // MPI may report a null datatype as an invalid reduction operation, because no operation is
    // defined for it.
    if (!bad) bad = FindBadArgument(analysis.trace, call->event);
    if (!bad) continue;
    allowed = bad->allowed;
    if (!Contains(values, bad->text)) {
      values.push_back(bad->text);
    }
  }
  const std::string call = CallName(analysis, first.event);
  const std::string ranks = RanksPhrase(finding.culprits);
  finding.title = values.empty() ? fmt::format("MPI rejected {} of {}", call, ranks)
                                 : fmt::format("{} {} {} to {}", ranks,
                                               Verb(finding.culprits, "passes", "pass"),
                                               fmt::join(values, ", "), call);
  finding.title += fmt::format(": {}, {}", error.name, error.text);
  if (!finding.waiting.empty()) {
    finding.title += fmt::format("; {} for {}", RanksPhrase(finding.waiting, "waits", "wait"),
                                 finding.culprits.size() == 1 ? "it" : "them");
  }
  finding.why = first.open ? "the argument is invalid whatever the other ranks pass: the library "
                             "ends the process inside the call, unless MPI_ERRORS_RETURN is set"
                           : "the call returned the error: the rank did not take part in the "
                             "operation and did not repeat the call";
  if (!allowed.empty()) finding.notes.push_back(std::move(allowed));
  for (const uint32_t p : incident.deviating) {
    const Process& process = analysis.trace.processes[p];
    if (process.end.how != ProcessEnd::How::kExited && process.exit_mark == ring::ExitMark::kNone) {
      continue;
    }
    finding.notes.push_back(fmt::format("rank {} {}", process.rank, EndText(process)));
  }
  return finding;
}

}  // namespace rollcall
