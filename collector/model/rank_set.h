// SPDX-License-Identifier: Apache-2.0
// Formats lists of ranks for users, folded into ranges, and other words with numbers.
#ifndef ROLLCALL_COLLECTOR_MODEL_RANK_SET_H_
#define ROLLCALL_COLLECTOR_MODEL_RANK_SET_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

// Sorts, and removes duplicates. Every rank list in a Finding has this form.
template <typename T>
void Normalize(std::vector<T>* list) {
  std::ranges::sort(*list);
  list->erase(std::unique(list->begin(), list->end()), list->end());
}

// "0-3,8"; "none" for no rank. `ranks` must be sorted.
std::string FoldRanks(const std::vector<int32_t>& ranks);

// "rank 0", "ranks 1-3".
std::string RanksPhrase(const std::vector<int32_t>& ranks);

// "rank 0 waits", "ranks 1-3 wait".
std::string RanksPhrase(const std::vector<int32_t>& ranks, std::string_view one,
                        std::string_view many);

// "1 rank", "3 ranks".
std::string CountText(uint64_t count, std::string_view thing);

// The verb in singular or plural: Verb(ranks, "waits", "wait").
std::string_view Verb(const std::vector<int32_t>& ranks, std::string_view one,
                      std::string_view many);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_RANK_SET_H_
