// SPDX-License-Identifier: Apache-2.0
#include "collector/matching/pair_patterns.h"

#include <algorithm>

#include "proto/signature.h"

namespace rollcall {
namespace {

// With fewer pairs, a pattern may hold by chance.
constexpr size_t kMinRepeats = 2;

constexpr const char* kPatternTexts[] = {
    "each rank sends the same to all",
    "each rank expects the same from all",
    "two ranks exchange the same in both directions",
};

}  // namespace

std::array<uint64_t, PairPatterns::kPatterns> PairPatterns::Keys(uint32_t sender,
                                                                 uint32_t receiver) {
  static_assert(std::size(kPatternTexts) == kPatterns);
  const auto [low, high] = std::minmax(sender, receiver);
  return {sender, receiver, uint64_t{low} << 32 | high};
}

void PairPatterns::Add(uint32_t sender, uint32_t receiver, uint64_t signature) {
  // Many programs copy the data of a rank for itself instead of sending it.
  if (sender == receiver && signature == kEmptySignature) return;
  const auto keys = Keys(sender, receiver);
  for (size_t i = 0; i < kPatterns; ++i) {
    Pattern& pattern = patterns_[i];
    const auto [entry, added] = pattern.signatures.emplace(keys[i], signature);
    pattern.holds &= entry->second == signature;
    pattern.repeats += !added && signature != kEmptySignature;
  }
}

std::optional<PairPatterns::Odd> PairPatterns::FindOdd(uint32_t sender, uint32_t receiver,
                                                       uint64_t sent, uint64_t expected) const {
  std::optional<Odd> odd;
  const auto keys = Keys(sender, receiver);
  for (size_t i = 0; i < kPatterns; ++i) {
    const Pattern& pattern = patterns_[i];
    const auto usual = pattern.signatures.find(keys[i]);
    if (!pattern.holds || pattern.repeats < kMinRepeats || usual == pattern.signatures.end()) {
      continue;
    }
    if (usual->second != sent && usual->second != expected) continue;
    const bool of_sender = usual->second == expected;
    if (odd && odd->sender != of_sender) return std::nullopt;
    if (!odd) odd = {of_sender, kPatternTexts[i]};
  }
  return odd;
}

}  // namespace rollcall
