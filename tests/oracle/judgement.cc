// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/judgement.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <type_traits>

#include "collector/model/rank_set.h"

namespace rollcall::oracle {

void Tally::Add(const Judgement& judgement) {
  ++traces;
  if (judgement.kind_right) {
    const auto certainty = static_cast<size_t>(judgement.report.findings[0].kind_certainty);
    if (certainty < kCertainties) {
      ++kinds[certainty];
      kinds_right[certainty] += *judgement.kind_right;
    }
  }
  if (judgement.open) {
    ++open;
    violations += !judgement.violations.empty();
    return;
  }
  stuck += judgement.stuck;
  proven += judgement.proven;
  by_luck += judgement.by_luck;
  luck_said += judgement.by_luck && judgement.luck_said;
  may_go_on += judgement.may_go_on;
  bounded += judgement.bounded;
  unsafe += judgement.unsafe;
  unsafe_said += judgement.unsafe && judgement.unsafe_said;
  violations += !judgement.violations.empty();
  if (!judgement.ended) return;
  silent += !judgement.stuck;
  const auto hit = static_cast<size_t>(judgement.hit);
  ++(judgement.stuck ? hits : silent_hits)[hit];
  if (judgement.stuck && judgement.sourced) ++sourced_hits[hit];
  if (!judgement.stuck || judgement.report.findings.empty()) return;
  const auto certainty = static_cast<size_t>(judgement.report.findings[0].kind_certainty);
  if (certainty < kCertainties) ++named[certainty][hit];
}

void Tally::Add(const Tally& other) {
  using Counts = std::array<uint64_t, sizeof(Tally) / sizeof(uint64_t)>;
  static_assert(sizeof(Tally) == sizeof(Counts) && std::is_trivially_copyable_v<Tally>);
  auto sum = std::bit_cast<Counts>(*this);
  const auto more = std::bit_cast<Counts>(other);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  *this = std::bit_cast<Tally>(sum);
}

// A deviation of this many traces is not significant in a sample of a hundred.
constexpr uint64_t kByChance = 2;

std::string Shortfalls(std::span<const Tally> tallies, std::span<const FaultInfo> faults) {
  std::string all;
  for (size_t kind = 0; kind < tallies.size(); ++kind) {
    const Tally& tally = tallies[kind];
    const FaultInfo& fault = faults[kind];
    const auto hits = [&](Hit hit) { return tally.hits[static_cast<size_t>(hit)]; };
    const auto share = [&](int percent) { return tally.stuck * static_cast<uint64_t>(percent); };
    const uint64_t named = hits(Hit::kExact) + hits(Hit::kTie);
    if ((named + kByChance) * 100 < share(fault.named)) {
      all += fmt::format("{}: named in {} of {}, wanted are {}%\n", fault.text, named, tally.stuck,
                         fault.named);
    }
    if (hits(Hit::kWrong) * 100 > share(fault.others) + kByChance * 100) {
      all += fmt::format("{}: only others are named in {} of {}, {}% may be\n", fault.text,
                         hits(Hit::kWrong), tally.stuck, fault.others);
    }
  }
  return all;
}

std::string ViolationText(const Finding& finding, std::string_view rule) {
  return fmt::format("{}: {}, {}: {} [culprits {}, waiting {}]", rule, KindText(finding),
                     CertaintyName(finding.certainty), finding.title, FoldRanks(finding.culprits),
                     FoldRanks(finding.waiting));
}

std::string ReportText(const Judgement& judgement) {
  std::string text;
  for (const Finding& finding : judgement.report.findings) {
    text += fmt::format("finding: {}{}, {}: {} [culprits {}, waiting {}]\n",
                        finding.hangs ? "" : "silent ", KindText(finding),
                        CertaintyName(finding.certainty), finding.title,
                        FoldRanks(finding.culprits), FoldRanks(finding.waiting));
    for (const std::string& note : finding.notes) text += fmt::format("  note: {}\n", note);
  }
  for (const std::string& violation : judgement.violations) {
    text += fmt::format("VIOLATION {}\n", violation);
  }
  return text;
}

}  // namespace rollcall::oracle
