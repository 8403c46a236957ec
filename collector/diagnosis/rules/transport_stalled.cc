// docs/verdicts/transport-stalled.md
#include <fmt/format.h>

#include "collector/diagnosis/describe.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeTransportStalled(const Analysis& analysis, const Incident& incident,
                                             const Parted&) {
  if (incident.what != Incident::What::kAllArrived) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kTransportStalled);
  if (finding.certainty == Certainty::kSuspected) {
    finding.notes.emplace_back(
        "what else is on the streams is not on record: a long kernel in front of it looks the "
        "same");
  }
  finding.title = fmt::format("every member arrived at {}, and {} {} not come out of it",
                              NumberedCall(analysis, incident, finding.operation),
                              RanksPhrase(finding.waiting), Verb(finding.waiting, "does", "do"));
  finding.why = analysis.no_progress_ns < 0
                    ? "all arguments match, and nobody has anything older to do"
                    : fmt::format("all arguments match, and nothing has moved for {}",
                                  DurationText(analysis.no_progress_ns));
  if (IsOnDevice(finding.operation)) {
    finding.fix =
        "the program is not to blame: look below it. Collect the links' error counters, NCCL's log "
        "(NCCL_DEBUG=INFO) and the state of each member's GPU: one that has stopped before it "
        "began "
        "looks the same here";
    return finding;
  }
  finding.fix =
      "the program is not to blame: look below it. Collect the links' error counters, the MPI "
      "library's log with transport messages on, and the stacks inside the library";
  return finding;
}

}  // namespace rollcall
