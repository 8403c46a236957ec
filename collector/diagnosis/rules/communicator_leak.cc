// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/communicator-leak.md
#include "collector/diagnosis/rules/leak.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/describe.h"

namespace rollcall {

std::optional<Finding> JudgeCommunicatorLeak(const Analysis& analysis, const Incident& incident,
                                             const Divergence&) {
  if (incident.what != Incident::What::kLeftover ||
      analysis.KindOf(*incident.deviating_event) == Kind::kMakeHandle) {
    return std::nullopt;
  }
  Finding finding = Draft(analysis, incident, VerdictKind::kCommunicatorLeak, true);
  finding.title = LeakTitle(analysis, incident, finding, "communicator", "made by", "freed");
  return finding;
}

}  // namespace rollcall
