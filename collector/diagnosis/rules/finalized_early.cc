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
  finding.title = fmt::format("{} entered MPI_Finalize; {} still {} it in {}", RanksPhrase(left),
                              RanksPhrase(finding.waiting), Verb(finding.waiting, "needs", "need"),
                              NumberedCall(analysis, incident, finding.operation));
  finding.why = "who has entered MPI_Finalize takes part in no further collective";
  return finding;
}

}  // namespace rollcall
