#include "tests/oracle/judgement.h"

#include <fmt/format.h>

#include "collector/model/rank_set.h"

namespace rollcall::oracle {

void Tally::Add(const Judgement& judgement) {
  ++traces;
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
  ++(judgement.stuck ? hits : silent_hits)[static_cast<size_t>(judgement.hit)];
}

// So many more or less are nothing in a sample of a hundred.
constexpr uint64_t kByChance = 2;

std::string Shortfalls(std::span<const Tally> tallies, std::span<const std::string_view> texts,
                       std::span<const int> named_at_least) {
  std::string all;
  for (size_t kind = 0; kind < tallies.size(); ++kind) {
    const Tally& tally = tallies[kind];
    const uint64_t named =
        tally.hits[static_cast<int>(Hit::kExact)] + tally.hits[static_cast<int>(Hit::kTie)];
    if ((named + kByChance) * 100 >= tally.stuck * static_cast<uint64_t>(named_at_least[kind]))
      continue;
    all += fmt::format("{}: named in {} of {}, wanted are {}%\n", texts[kind], named, tally.stuck,
                       named_at_least[kind]);
  }
  return all;
}

std::string ReportText(const Judgement& judgement) {
  std::string text;
  for (const Finding& finding : judgement.report.findings) {
    text += fmt::format("finding: {}{}, {}: {} [culprits {}, waiting {}]\n",
                        finding.hangs ? "" : "silent ", KindName(finding.kind),
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
