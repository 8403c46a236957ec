// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/order-inversion.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeOrderInversion(const Analysis& analysis, const Incident& incident,
                                           const Divergence&) {
  if (incident.what != Incident::What::kCycle || !incident.Of<WaitDetails>().crossed)
    return std::nullopt;
  const Event* other = incident.deviating_event;
  if (other == nullptr || other->sequence == 0 || other->member == kNoIndex) {
    return std::nullopt;
  }
  Finding finding = Draft(analysis, incident, VerdictKind::kOrderInversion);
  const Member& member = analysis.trace.members[other->member];
  finding.title = fmt::format("{} and {} use {} and {} in opposite order",
                              RanksPhrase(analysis.RanksOf(incident.deviating)),
                              RanksPhrase(analysis.RanksOf(incident.agreeing)),
                              analysis.CommunicatorName(incident.communicator),
                              analysis.CommunicatorName(member.communicator));
  finding.why = fmt::format(
      "each side waits for the other, in {} and in {}; neither call is wrong by itself",
      NumberedCall(analysis, incident, finding.operation), OtherCall(analysis, incident, *other));
  return finding;
}

}  // namespace rollcall
