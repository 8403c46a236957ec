// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/straggler.md
#include <fmt/format.h>

#include <algorithm>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeStraggler(const Analysis& analysis, const Incident& incident,
                                      const Divergence&) {
  if (incident.what != Incident::What::kLast) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kStraggler);
  const Lateness& lateness = incident.Of<Lateness>();
  finding.title = fmt::format(
      "{} arrived last at {} of {} collectives on {}; each time the other ranks waited {:.1f} ms "
      "for it alone",
      RanksPhrase(finding.culprits), lateness.last, lateness.of,
      analysis.CommunicatorName(incident.communicator),
      static_cast<double>(lateness.median_ns) * 1e-6);
  finding.why = fmt::format(
      "all ranks leave such a call together, and this rank is in it for the shortest time; the "
      "others waited for it {:.0f}% of the time",
      static_cast<double>(lateness.total_ns) * 100 /
          static_cast<double>(std::max<int64_t>(lateness.elapsed_ns, 1)));
  return finding;
}

}  // namespace rollcall
