// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/divergent-call-sites.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"

namespace rollcall {

std::optional<Finding> JudgeDivergentCallSites(const Analysis& analysis, const Incident& incident,
                                               const Divergence&) {
  if (incident.what != Incident::What::kSites) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kDivergentCallSites);
  finding.title =
      fmt::format("{} was called from {} places",
                  NumberedCall(analysis, incident, finding.operation), finding.sites.size());
  if (incident.repeated != 0) {
    finding.title += fmt::format(", and {} more from the same", incident.repeated);
  }
  return finding;
}

}  // namespace rollcall
