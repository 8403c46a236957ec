// SPDX-License-Identifier: Apache-2.0
// Type signatures as hashes of the sequence of basic types that a (count, datatype) pair describes.
// 4 x MPI_INT and 1 x contiguous(4, MPI_INT) have equal hashes (MPI 4.0, 5.1 and 3.3.1).
//
// The hash of a sequence t1..tn is the polynomial  sum t_i * B^(n-i)  modulo the prime 2^61-1. The
// hash of a concatenation is computed from both hashes and the second length; that of a repetition
// in O(log count) steps.
//
// Basic types are hashed by class (datatypes.h): MPI_LONG and MPI_INT64_T have equal hashes.
// Pure functions; async-signal-safe; no allocation.
#ifndef ROLLCALL_PROTO_SIGNATURE_H_
#define ROLLCALL_PROTO_SIGNATURE_H_

#include <cstdint>

namespace rollcall {

inline constexpr uint64_t kSignaturePrime = (uint64_t{1} << 61) - 1;
inline constexpr uint64_t kSignatureBase = 0x1b873593cc9e2d51 % kSignaturePrime;

constexpr uint64_t MulMod61(uint64_t a, uint64_t b) {
  // 122 bits, folded: 2^61 is 1 modulo the prime.
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  uint64_t sum =
      static_cast<uint64_t>(product & kSignaturePrime) + static_cast<uint64_t>(product >> 61);
  if (sum >= kSignaturePrime) sum -= kSignaturePrime;
  return sum;
}

constexpr uint64_t AddMod61(uint64_t a, uint64_t b) {
  const uint64_t sum = a + b;
  return sum >= kSignaturePrime ? sum - kSignaturePrime : sum;
}

// A sequence of basic types: its hash, and B^length, which concatenation needs.
struct Signature {
  uint64_t hash = 0;
  uint64_t power = 1;

  friend constexpr bool operator==(const Signature&, const Signature&) = default;
};

// Spreads the values, so that neighbouring classes do not get neighbouring hashes. Never 0.
constexpr uint64_t MixSignature(uint64_t value) {
  value = (value + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  value ^= value >> 31;
  value = value * 0x94d049bb133111eb;
  value ^= value >> 29;
  return value | 1;
}

constexpr Signature BasicSignature(uint32_t type_class) {
  return {MixSignature(type_class) % kSignaturePrime, kSignatureBase};
}

constexpr Signature Concatenate(const Signature& a, const Signature& b) {
  return {AddMod61(MulMod61(a.hash, b.power), b.hash), MulMod61(a.power, b.power)};
}

constexpr Signature Repeat(Signature unit, uint64_t count) {
  Signature result;
  while (count != 0) {
    if (count & 1) result = Concatenate(result, unit);
    unit = Concatenate(unit, unit);
    count >>= 1;
  }
  return result;
}

// The signature hash of a whole buffer, as stored in rings (Record::send_signature). Most buffers
// hold one basic type: their hash is computed from class and number of elements (UniformSignature),
// without a chain of multiplications. Other buffers have a MixedSignature. A uniform and a mixed
// buffer never have the same sequence of types, because a repeated mixed sequence is mixed. All
// empty buffers have the same hash, whatever their type.
inline constexpr uint64_t kEmptySignature = 0x5bd1e9955bd1e995;

constexpr uint64_t UniformSignature(uint32_t type_class, uint64_t basics) {
  if (basics == 0) return kEmptySignature;
  return MixSignature(MixSignature(type_class) + basics);
}

constexpr uint64_t MixedSignature(const Signature& element, uint64_t count) {
  if (count == 0) return kEmptySignature;
  return MixSignature(Repeat(element, count).hash ^ 0x6d69786564);
}

// The rolling hash over a communicator's operations (ring_format.h, Checkpoint).
constexpr uint64_t RollHash(uint64_t hash, uint64_t next) {
  hash ^= next + 0x9e3779b97f4a7c15 + (hash << 12) + (hash >> 4);
  return hash * 0xff51afd7ed558ccd;
}

}  // namespace rollcall

#endif  // ROLLCALL_PROTO_SIGNATURE_H_
