// SPDX-License-Identifier: Apache-2.0
#include "collector/model/rank_set.h"

#include <fmt/format.h>

namespace rollcall {

std::string FoldRanks(const std::vector<int32_t>& ranks) {
  if (ranks.empty()) return "none";
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ranks[i]);
    // Two neighbours are not written as a range: "1,2".
    if (last == i + 1) {
      text += ',' + std::to_string(ranks[last]);
    } else if (last > i) {
      text += '-' + std::to_string(ranks[last]);
    }
    i = last + 1;
  }
  return text;
}

std::string RanksPhrase(const std::vector<int32_t>& ranks) {
  if (ranks.empty()) return "no rank";
  return (ranks.size() == 1 ? "rank " : "ranks ") + FoldRanks(ranks);
}

std::string RanksPhrase(const std::vector<int32_t>& ranks, std::string_view one,
                        std::string_view many) {
  return RanksPhrase(ranks).append(" ").append(Verb(ranks, one, many));
}

std::string CountText(uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string_view Verb(const std::vector<int32_t>& ranks, std::string_view one,
                      std::string_view many) {
  return ranks.size() == 1 ? one : many;
}

}  // namespace rollcall
