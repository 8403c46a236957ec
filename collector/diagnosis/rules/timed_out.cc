// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/timed-out.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeTimedOut(const Analysis& analysis, const Incident& incident,
                                     const Divergence&) {
  if (incident.what != Incident::What::kTimedOut) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kTimedOut);
  finding.operation = Operation::kNone;  // each rank is in a call of its own
  finding.title =
      fmt::format("the job did not end within {}", DurationText(analysis.options.time_limit_ns));
  const std::vector<int32_t> ranks = analysis.RanksOf(incident.deviating);
  if (!ranks.empty()) {
    finding.why =
        fmt::format("{} had not finalized; there is no evidence that {} could not have continued",
                    RanksPhrase(ranks), Verb(ranks, "it", "they"));
  }
  return finding;
}

}  // namespace rollcall
