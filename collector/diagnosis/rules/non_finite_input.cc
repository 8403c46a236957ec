// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/non-finite-input.md
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/data_text.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

std::string CountText(const FirstNonFinite& first) {
  if (uint64_t{first.nans} + first.infinities < 2) return "";
  if (first.infinities == 0) return fmt::format(", the first of {} NaN", first.nans);
  if (first.nans == 0) return fmt::format(", the first of {} infinite ones", first.infinities);
  return fmt::format(", the first of {} NaN and {} infinite ones", first.nans, first.infinities);
}

std::string SpreadText(const Analysis& analysis, const DataDetails& data) {
  if (data.received_by.empty()) return "; the result is not on record";
  if (data.received_by.size() == data.members) {
    return fmt::format("; the results of all {} ranks have one", data.members);
  }
  const std::vector<int32_t> ranks = analysis.RanksOf(data.received_by);
  return fmt::format("; {} of {} one", ranks.size() == 1 ? "the result" : "the results",
                     RanksPhrase(ranks, "has", "have"));
}

}  // namespace

std::optional<Finding> JudgeNonFiniteInput(const Analysis& analysis, const Incident& incident,
                                           const Divergence&) {
  if (incident.what != Incident::What::kNonFinite) return std::nullopt;
  const DataDetails& data = incident.Of<DataDetails>();
  const FirstNonFinite& first = data.first;
  Finding finding = DraftOfData(analysis, incident, VerdictKind::kNonFiniteInput);
  const std::string value = NonFiniteText(analysis.trace, first);
  const bool infinite = value.find("Inf") != std::string::npos;
  finding.title = fmt::format("{} passed {} to {}; {}", RanksPhrase(finding.culprits),
                              infinite ? "an infinity" : "NaN",
                              NumberedCall(analysis, incident, finding.operation),
                              data.incomplete ? "of the other inputs, those on record were finite"
                                              : "all other inputs were finite");
  finding.why = fmt::format("element {} of its input is {}{}{}", first.element, value,
                            CountText(first), SpreadText(analysis, data));
  if (!data.later.empty()) {
    std::vector<std::string> names;
    for (const uint32_t c : data.later) {
      if (names.size() == 4) break;
      names.push_back(analysis.CommunicatorName(c));
    }
    finding.notes.push_back(fmt::format(
        "ranks passed it on, on {}{}", fmt::join(names, ", "),
        data.later.size() > names.size()
            ? fmt::format(" and {} more communicators", data.later.size() - names.size())
            : ""));
  }
  if (!data.earlier.empty()) {
    const std::vector<int32_t> ranks = analysis.RanksOf(data.earlier);
    finding.notes.push_back(fmt::format(
        "{} had NaN or an infinity before: it may have come from there, by calls whose data is not "
        "searched",
        RanksPhrase(ranks)));
  }
  if (data.overwritten) {
    finding.notes.emplace_back(
        "reads of minima and maxima are overwritten: ranks may have had an infinity from them "
        "before");
  }
  if (data.from_messages) {
    finding.notes.push_back(fmt::format(
        "{} had received messages before, whose data is not read: it may have come in one",
        RanksPhrase(finding.culprits)));
  }
  return finding;
}

}  // namespace rollcall
