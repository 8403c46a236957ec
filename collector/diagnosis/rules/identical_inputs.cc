// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/identical-inputs.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/data_text.h"

namespace rollcall {

std::optional<Finding> JudgeIdenticalInputs(const Analysis& analysis, const Incident& incident,
                                            const Divergence&) {
  if (incident.what != Incident::What::kSameInputs) return std::nullopt;
  Finding finding = DraftOfData(analysis, incident, VerdictKind::kIdenticalInputs);
  finding.title = fmt::format("all {} ranks passed equal data to {} and to the {} calls before it",
                              incident.Of<DataDetails>().members,
                              NumberedCall(analysis, incident, finding.operation),
                              incident.Of<DataDetails>().calls - 1);
  finding.why =
      "the sum of equal parts is that of one part, times the number of ranks: they seem to work on "
      "the same data";
  return finding;
}

}  // namespace rollcall
