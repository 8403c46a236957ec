// docs/verdicts/request-leak.md
#include <fmt/format.h>

#include "collector/diagnosis/describe.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeRequestLeak(const Analysis& analysis, const Incident& incident,
                                        const Parted&) {
  if (incident.what != Incident::What::kRequestLeak) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kRequestLeak, true);
  finding.title =
      fmt::format("{} finalized with {} request{} of {} still open", RanksPhrase(finding.culprits),
                  incident.count, incident.count == 1 ? "" : "s", OperationName(finding.operation));
  return finding;
}

}  // namespace rollcall
