// SPDX-License-Identifier: Apache-2.0
// Decides which end of a pair that disagrees about its data is wrong: the end that breaks a pattern
// which holds in all agreeing pairs of the call.
#ifndef ROLLCALL_COLLECTOR_MATCHING_PAIR_PATTERNS_H_
#define ROLLCALL_COLLECTOR_MATCHING_PAIR_PATTERNS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace rollcall {

class PairPatterns {
 public:
  // Adds a pair that agrees about data of this signature. Members are small numbers.
  void Add(uint32_t sender, uint32_t receiver, uint64_t signature);

  struct Odd {
    bool sender = false;       // else the receiver
    const char* pattern = "";  // the pattern that holds in all pairs that agree
  };
  // The wrong end of a pair that disagrees. Empty if no pattern holds, or if patterns contradict
  // each other.
  std::optional<Odd> FindOdd(uint32_t sender, uint32_t receiver, uint64_t sent,
                             uint64_t expected) const;

 private:
  // A pattern holds if all pairs with one key agree about the same data.
  struct Pattern {
    std::unordered_map<uint64_t, uint64_t> signatures;  // by key
    size_t repeats = 0;
    bool holds = true;
  };
  static constexpr size_t kPatterns = 3;
  static std::array<uint64_t, kPatterns> Keys(uint32_t sender, uint32_t receiver);

  std::array<Pattern, kPatterns> patterns_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_PAIR_PATTERNS_H_
