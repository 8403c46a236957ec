// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/last-bits-differ.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/data_text.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeLastBitsDiffer(const Analysis& analysis, const Incident& incident,
                                           const Divergence&) {
  if (incident.what != Incident::What::kLastBits) return std::nullopt;
  Finding finding = DraftOfData(analysis, incident, VerdictKind::kLastBitsDiffer);
  finding.title = fmt::format("the results of {} on {} and on {} differ in the last bits",
                              NumberedCall(analysis, incident, finding.operation),
                              RanksPhrase(analysis.RanksOf(incident.agreeing)),
                              RanksPhrase(analysis.RanksOf(incident.deviating)));
  if (incident.repeated != 0) {
    finding.title += fmt::format(", and {} more from the same place", incident.repeated);
  }
  finding.why = DifferenceText(incident);
  return finding;
}

}  // namespace rollcall
