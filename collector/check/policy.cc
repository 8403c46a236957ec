// SPDX-License-Identifier: Apache-2.0
#include "collector/check/policy.h"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall {
namespace {

Ruling::Weight WeightOf(const Report& report, const Finding& finding, const Policy& policy) {
  if (!policy.fail_on.contains(finding.kind)) {
    return KindSeverity(finding.kind) == Severity::kNote ? Ruling::Weight::kNote
                                                         : Ruling::Weight::kWarning;
  }
  const bool stopped = finding.hangs && report.status == Report::Status::kHung;
  const bool certain = finding.certainty <= Certainty::kLikely;
  return stopped || certain ? Ruling::Weight::kFails : Ruling::Weight::kWarning;
}

}  // namespace

Result<std::set<VerdictKind>> ParseFailOn(std::string_view text) {
  std::set<VerdictKind> kinds;
  if (text == "none") return kinds;
  for (size_t begin = 0; begin <= text.size();) {
    const std::string_view word = text.substr(begin, text.find(',', begin) - begin);
    begin += word.size() + 1;
    if (word == "all" || word == "errors") {
      for (const KindRow& row : kKinds) {
        if (word == "all" || row.severity == Severity::kError) kinds.insert(row.kind);
      }
    } else if (const std::optional<VerdictKind> kind = FindKind(word)) {
      kinds.insert(*kind);
    } else {
      return Error{fmt::format("'{}' is not a kind of finding", word)};
    }
  }
  return kinds;
}

std::vector<Ruling> Judge(const Report& report, const Policy& policy,
                          std::vector<std::string>* unused) {
  std::vector<Ruling> rulings;
  std::vector<bool> used(policy.baseline.entries.size(), false);
  for (const Finding& finding : report.findings) {
    Ruling ruling;
    ruling.weight = WeightOf(report, finding, policy);
    for (size_t i = 0; i < used.size(); ++i) {
      const BaselineEntry& entry = policy.baseline.entries[i];
      if (!entry.Fits(finding)) continue;
      used[i] = true;
      ruling.weight = Ruling::Weight::kKnown;
      if (ruling.reason.empty()) ruling.reason = entry.reason;
    }
    rulings.push_back(std::move(ruling));
  }
  for (size_t i = 0; i < used.size(); ++i) {
    const BaselineEntry& entry = policy.baseline.entries[i];
    if (used[i]) continue;
    unused->push_back(fmt::format("{}:{}: matched no finding: {}", policy.baseline.name, entry.line,
                                  entry.Text()));
  }
  return rulings;
}

size_t Count(const std::vector<Ruling>& rulings, Ruling::Weight weight) {
  return static_cast<size_t>(std::ranges::count(rulings, weight, &Ruling::weight));
}

}  // namespace rollcall
