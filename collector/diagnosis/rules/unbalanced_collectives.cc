// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/unbalanced-collectives.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeUnbalancedCollectives(const Analysis& analysis,
                                                  const Incident& incident,
                                                  const Divergence& divergence) {
  if (incident.what != Incident::What::kUnbalanced) return std::nullopt;
  Finding finding =
      Draft(analysis, incident, VerdictKind::kUnbalancedCollectives, !divergence.skipped);
  const std::vector<uint32_t>& made = divergence.skipped ? incident.agreeing : incident.deviating;
  const std::vector<uint32_t>& left_out =
      divergence.skipped ? incident.deviating : incident.agreeing;
  finding.title = fmt::format("{} called {}, {} did not", RanksPhrase(analysis.RanksOf(made)),
                              NumberedCall(analysis, incident, finding.operation),
                              RanksPhrase(analysis.RanksOf(left_out)));
  finding.why = fmt::format(
      "all of them have finalized, and the collectives that they made on the communicator differ "
      "by {}",
      incident.Of<CallDetails>().difference);
  finding.notes.emplace_back(
      "it did not hang here: the call returned before the other ranks reached it");
  return finding;
}

}  // namespace rollcall
