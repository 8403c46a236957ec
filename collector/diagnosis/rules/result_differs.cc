// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/result-differs.md
#include <fmt/format.h>

#include <string>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/data_text.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

std::string TransferText(const DataDetails& data, const std::vector<int32_t>& deviating,
                         const std::vector<int32_t>& agreeing, const std::string& call) {
  const std::string self = RanksPhrase(deviating);
  if (agreeing.empty()) {
    return fmt::format("{} received other data in {} than {} sent", self, call,
                       deviating.size() == 1 ? "it" : "they");
  }
  const std::string others = RanksPhrase(agreeing);
  return fmt::format("{} received other data in {} than {} sent", data.from_sender ? others : self,
                     call, data.from_sender ? self : others);
}

}  // namespace

std::optional<Finding> JudgeResultDiffers(const Analysis& analysis, const Incident& incident,
                                          const Divergence&) {
  if (incident.what != Incident::What::kResults) return std::nullopt;
  const DataDetails& data = incident.Of<DataDetails>();
  Finding finding = DraftOfData(analysis, incident, VerdictKind::kResultDiffers);
  const std::vector<int32_t> deviating = analysis.RanksOf(incident.deviating);
  const std::vector<int32_t> agreeing = analysis.RanksOf(incident.agreeing);
  const std::string call = NumberedCall(analysis, incident, finding.operation);
  if (data.transfer) {
    finding.title = TransferText(data, deviating, agreeing, call);
    finding.why = "the hashes of what was sent and of what was received differ";
  } else {
    if (agreeing.empty()) {
      finding.title = fmt::format("the buffer of {}, the root, changed during {}",
                                  RanksPhrase(deviating), call);
    } else if (incident.tie) {
      finding.title = fmt::format("{} and {} have different results of {}", RanksPhrase(agreeing),
                                  RanksPhrase(deviating), call);
    } else {
      finding.title =
          fmt::format("{} another result of {} than {}", RanksPhrase(deviating, "has", "have"),
                      call, RanksPhrase(agreeing));
    }
    finding.why = DifferenceText(incident);
  }
  if (!data.exact_type) {
    finding.notes.push_back(data.difference.exact
                                ? "more than rounding in another order explains"
                                : "how large the differences are is unknown: they may be rounding");
  }
  if (incident.repeated != 0) {
    finding.notes.push_back(fmt::format("data also differs in {} from the same place",
                                        CountText(incident.repeated, "more call")));
  }
  return finding;
}

}  // namespace rollcall
