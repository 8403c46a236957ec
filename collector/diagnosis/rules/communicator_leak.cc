// docs/verdicts/communicator-leak.md
#include <fmt/format.h>

#include "collector/diagnosis/describe.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeCommunicatorLeak(const Analysis& analysis, const Incident& incident,
                                             const Parted&) {
  if (incident.what != Incident::What::kCommunicatorLeak) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kCommunicatorLeak, true);
  const std::string others =
      incident.count == 1 ? "" : fmt::format(" and {} more made there", incident.count - 1);
  finding.title = fmt::format("{} finalized without freeing {}{}", RanksPhrase(finding.culprits),
                              analysis.CommunicatorName(incident.communicator), others);
  return finding;
}

}  // namespace rollcall
