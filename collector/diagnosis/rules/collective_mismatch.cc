// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/collective-mismatch.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeCollectiveMismatch(const Analysis& analysis, const Incident& incident,
                                               const Divergence& divergence) {
  if (incident.what != Incident::What::kCalls ||
      incident.mismatch.kind != MismatchKind::kOperation) {
    return std::nullopt;
  }
  Finding finding = Draft(analysis, incident, VerdictKind::kCollectiveMismatch);
  const std::vector<int32_t> deviating = analysis.RanksOf(incident.deviating);
  const std::vector<int32_t> agreeing = analysis.RanksOf(incident.agreeing);
  finding.title =
      fmt::format("{} called {} where {} called {}{}", RanksPhrase(deviating),
                  CallText(analysis, *incident.deviating_event, false), RanksPhrase(agreeing),
                  NumberedCall(analysis, incident, finding.operation),
                  incident.tie ? "; the two sides have the same number of ranks" : "");
  if (divergence.later_made) {
    finding.why = "both made both calls, in different orders";
  } else if (divergence.path_divergence.arms) {
    finding.why =
        fmt::format("they are the first calls of two arms of a branch in {}, at lines {} and {}",
                    FunctionText(divergence.path_divergence.a), divergence.path_divergence.a.line,
                    divergence.path_divergence.b.line);
  } else if (divergence.path_divergence.known && !divergence.path_divergence.branch &&
             !divergence.path_divergence.a.function.empty()) {
    finding.why = fmt::format("one call in {} at {} led to different operations",
                              FunctionText(divergence.path_divergence.a),
                              PlaceText(divergence.path_divergence.a));
  } else {
    finding.why = "different operations have the same sequence number and cannot match";
  }
  return finding;
}

}  // namespace rollcall
