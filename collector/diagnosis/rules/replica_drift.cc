// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/replica-drift.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/data_text.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeReplicaDrift(const Analysis& analysis, const Incident& incident,
                                         const Divergence&) {
  if (incident.what != Incident::What::kDrift) return std::nullopt;
  const DataDetails& data = incident.Of<DataDetails>();
  Finding finding = DraftOfData(analysis, incident, VerdictKind::kReplicaDrift);
  const std::vector<int32_t> deviating = analysis.RanksOf(incident.deviating);
  const std::vector<int32_t> agreeing = analysis.RanksOf(incident.agreeing);
  if (data.replica.empty()) {
    finding.title = fmt::format(
        "{} passed other data to {} than {}; in {} calls before, all ranks passed equal data",
        RanksPhrase(deviating), NumberedCall(analysis, incident, finding.operation),
        RanksPhrase(agreeing), data.calls);
  } else {
    const std::string buffer =
        fmt::format("\"{}\" in call {} of rollcall_replica", data.replica, incident.sequence);
    finding.title =
        incident.tie
            ? fmt::format("{} and {} have different data in {}", RanksPhrase(agreeing),
                          RanksPhrase(deviating), buffer)
            : fmt::format("{} other data than {} in {}", RanksPhrase(deviating, "has", "have"),
                          RanksPhrase(agreeing), buffer);
  }
  finding.why = data.sizes_differ ? "the buffers have different sizes" : DifferenceText(incident);
  if (incident.repeated != 0) {
    finding.notes.push_back(
        fmt::format("it also differs in {}", CountText(incident.repeated, "more call")));
  }
  return finding;
}

}  // namespace rollcall
