// docs/verdicts/finalized-early.md
#include <fmt/format.h>

#include "collector/diagnosis/describe.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeFinalizedEarly(const Analysis& analysis, const Incident& incident,
                                           const Parted&) {
  if (incident.what != Incident::What::kLeft) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kFinalizedEarly);
  const std::vector<int32_t> left = analysis.RanksOf(incident.deviating);
  // A process that knows no MPI has no such call: it returned from main.
  const Process& process = analysis.trace.processes[incident.deviating.front()];
  const bool no_mpi = process.device && process.flavor == ring::Flavor::kUnknown;
  finding.title = fmt::format("{} {}; {} still {} it in {}", RanksPhrase(left),
                              no_mpi ? "came to its end" : "entered MPI_Finalize",
                              RanksPhrase(finding.waiting), Verb(finding.waiting, "needs", "need"),
                              NumberedCall(analysis, incident, finding.operation));
  finding.why = no_mpi ? "it ended by itself, without an error, before the others were through"
                       : "who has entered MPI_Finalize takes part in no further collective";
  return finding;
}

}  // namespace rollcall
