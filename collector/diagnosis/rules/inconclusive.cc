// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/inconclusive.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

namespace {

// The record of the call is overwritten, or was not read.
Finding JudgeLost(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kInconclusive);
  const std::string lost = RanksPhrase(analysis.RanksOf(incident.deviating));
  finding.title = fmt::format("{} in {}; there is no record of the call of {}",
                              RanksPhrase(analysis.RanksOf(incident.agreeing), "waits", "wait"),
                              NumberedCall(analysis, incident, finding.operation), lost);
  finding.why = fmt::format(
      "every rank has made a call with this number. Whether the call of {} matches is not known",
      lost);
  finding.fix =
      "if its ring has overwritten the record, run the job again with larger rings "
      "(ROLLCALL_RING_KIB)";
  return finding;
}

}  // namespace

std::optional<Finding> JudgeInconclusive(const Analysis& analysis, const Incident& incident,
                                         const Divergence&) {
  if (incident.what == Incident::What::kLost) return JudgeLost(analysis, incident);
  if (incident.what != Incident::What::kAbsent) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kInconclusive);
  finding.culprits.clear();
  const bool of_log = analysis.trace.evidence == Trace::Evidence::kLogs;
  finding.title = fmt::format("{} in {}; {} {}{}", RanksPhrase(finding.waiting, "waits", "wait"),
                              NumberedCall(analysis, incident, finding.operation),
                              of_log ? "the log has no line of" : "the trace of",
                              RanksPhrase(incident.absent), of_log ? "" : " is missing");
  if (of_log) {
    finding.why =
        "every rank of which the log says something has arrived; whether the other ranks have "
        "arrived is not known";
    finding.fix =
        "add the logs of the other ranks. Next time run the job under `rollcall run`, which "
        "records every rank";
    return finding;
  }
  finding.why =
      "every rank with a trace has arrived; whether the other ranks have arrived is not known. A "
      "missing trace does not mean that a rank is at fault";
  finding.fix = fmt::format(
      "collect the ring files of {}: from its host's run directory, or by running under `rollcall "
      "run`, which starts an agent on every host",
      RanksPhrase(incident.absent));
  return finding;
}

}  // namespace rollcall
