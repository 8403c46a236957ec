// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/desync.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeDesync(const Analysis& analysis, const Incident& incident,
                                   const Divergence&) {
  if (incident.what != Incident::What::kHashes) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kDesync);
  finding.operation = Operation::kNone;  // the record of the differing call is lost
  finding.sites.clear();
  finding.sequence = incident.Of<CallDetails>().matching_until + 1;
  const std::vector<int32_t> deviating = analysis.RanksOf(incident.deviating);
  finding.title =
      fmt::format("the calls of {} and {} on {} diverge between #{} and #{}",
                  RanksPhrase(deviating), RanksPhrase(analysis.RanksOf(incident.agreeing)),
                  analysis.CommunicatorName(incident.communicator),
                  incident.Of<CallDetails>().matching_until + 1, incident.sequence);
  finding.why = "the hashes of all calls so far differ; the records of that time are overwritten";
  finding.fix =
      "run again with a larger ring, so that the first differing call stays recorded; all later "
      "results are unreliable";
  return finding;
}

}  // namespace rollcall
