// SPDX-License-Identifier: Apache-2.0
// Sums over the words of a buffer (ring_format.h, "The data of collectives"). Two processes compare
// their copies of a buffer by these sums, without exchanging the data.
#ifndef ROLLCALL_PROTO_DATA_WORDS_H_
#define ROLLCALL_PROTO_DATA_WORDS_H_

#include <bit>
#include <cstdint>

#include "proto/mix.h"

namespace rollcall {

// The sums of words w(1) .. w(words), modulo 2^64, as in ring::DataRecord.
struct Fingerprint {
  uint64_t words = 0;
  uint64_t sum = 0;
  uint64_t weighted_sum = 0;
  uint64_t squared_sum = 0;
  uint64_t exclusive = 0;

  friend constexpr bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// The fingerprint of the words of `a` followed by those of `b`.
constexpr Fingerprint operator+(const Fingerprint& a, const Fingerprint& b) {
  const uint64_t n = a.words;
  return {n + b.words, a.sum + b.sum, a.weighted_sum + b.weighted_sum + n * b.sum,
          a.squared_sum + b.squared_sum + 2 * n * b.weighted_sum + n * n * b.sum,
          a.exclusive ^ b.exclusive};
}

// Equal for equal fingerprints. Never 0, except for no words. If only the highest bit of a word
// changes, each sum may change in its highest bit only. Two sums are therefore rotated, so that
// these changes do not cancel.
constexpr uint64_t HashFingerprint(const Fingerprint& all) {
  if (all.words == 0) return 0;
  const uint64_t a = (all.sum + std::rotl(all.squared_sum, 32)) * 0xc2b2ae3d27d4eb4f;
  const uint64_t b = (all.weighted_sum + std::rotl(all.exclusive, 32)) * 0x165667b19e3779f9;
  const uint64_t hash = Mix64(a ^ a >> 32, (b ^ b >> 32) + all.words);
  return hash == 0 ? 1 : hash;
}

}  // namespace rollcall

#endif  // ROLLCALL_PROTO_DATA_WORDS_H_
