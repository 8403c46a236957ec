// SPDX-License-Identifier: Apache-2.0
#include "proto/signature.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "proto/datatypes.h"

namespace rollcall {
namespace {

// Computes the definition, the sum of t_i * B^(n-i), type by type.
Signature BruteForce(const std::vector<uint32_t>& classes) {
  Signature signature;
  for (const uint32_t type_class : classes) {
    const unsigned __int128 hash = static_cast<unsigned __int128>(signature.hash) * kSignatureBase +
                                   BasicSignature(type_class).hash;
    signature.hash = static_cast<uint64_t>(hash % kSignaturePrime);
    signature.power = static_cast<uint64_t>(static_cast<unsigned __int128>(signature.power) *
                                            kSignatureBase % kSignaturePrime);
  }
  return signature;
}

std::vector<uint32_t> Sequence(std::mt19937_64* random, size_t size) {
  std::vector<uint32_t> classes(size);
  for (uint32_t& type_class : classes) type_class = static_cast<uint32_t>((*random)() % 27);
  return classes;
}

TEST(Signature, ModularArithmeticIsExact) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    uint64_t a = random() % kSignaturePrime;
    uint64_t b = random() % kSignaturePrime;
    if (i == 0) a = b = kSignaturePrime - 1;
    if (i == 1) a = 0;
    EXPECT_EQ(MulMod61(a, b),
              static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % kSignaturePrime));
    EXPECT_EQ(AddMod61(a, b), (a + b) % kSignaturePrime);
  }
}

TEST(Signature, ConcatenationEqualsTheSignatureOfTheConcatenatedSequence) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    const std::vector<uint32_t> a = Sequence(&random, random() % 20);
    const std::vector<uint32_t> b = Sequence(&random, random() % 20);
    std::vector<uint32_t> both = a;
    both.insert(both.end(), b.begin(), b.end());
    EXPECT_EQ(Concatenate(BruteForce(a), BruteForce(b)), BruteForce(both));
  }
}

TEST(Signature, RepetitionEqualsTheSignatureOfTheRepeatedSequence) {
  std::mt19937_64 random(3);
  for (uint64_t count = 0; count < 200; ++count) {
    const std::vector<uint32_t> unit = Sequence(&random, 1 + random() % 5);
    std::vector<uint32_t> all;
    for (uint64_t i = 0; i < count; ++i) all.insert(all.end(), unit.begin(), unit.end());
    EXPECT_EQ(Repeat(BruteForce(unit), count), BruteForce(all)) << count;
  }
}

TEST(Signature, RepetitionsMultiplyAndAdd) {
  std::mt19937_64 random(4);
  const Signature unit = BruteForce(Sequence(&random, 3));
  for (int round = 0; round < 200; ++round) {
    const uint64_t m = random() >> 34;
    const uint64_t n = random() >> 34;
    EXPECT_EQ(Repeat(Repeat(unit, m), n), Repeat(unit, m * n));
    EXPECT_EQ(Concatenate(Repeat(unit, m), Repeat(unit, n)), Repeat(unit, m + n));
  }
  EXPECT_EQ(Repeat(unit, 0), Signature());
  EXPECT_EQ(Repeat(unit, 1), unit);
}

// 4 x MPI_INT, 2 x contiguous(2, MPI_INT) and 1 x struct{int, int[3]} are the same sequence.
TEST(Signature, EqualSequencesHaveEqualSignatures) {
  const Signature integer = BasicSignature(static_cast<uint32_t>(TypeClass::kI32));
  const Signature four = Repeat(integer, 4);
  EXPECT_EQ(Repeat(Repeat(integer, 2), 2), four);
  EXPECT_EQ(Concatenate(integer, Repeat(integer, 3)), four);
}

TEST(Signature, SignatureDependsOnOrderLengthAndType) {
  const Signature i = BasicSignature(static_cast<uint32_t>(TypeClass::kI32));
  const Signature d = BasicSignature(static_cast<uint32_t>(TypeClass::kF64));
  EXPECT_NE(Concatenate(i, d).hash, Concatenate(d, i).hash);
  EXPECT_NE(Repeat(i, 3).hash, Repeat(i, 4).hash);
  EXPECT_NE(Repeat(i, 2).hash, d.hash);
  std::set<uint64_t> hashes;
  for (uint32_t type_class = 0; type_class < 64; ++type_class) {
    EXPECT_NE(BasicSignature(type_class).hash, 0u);
    hashes.insert(BasicSignature(type_class).hash);
  }
  EXPECT_EQ(hashes.size(), 64u);
}

TEST(Signature, RollingHashesDistinguishOrderAndRepetition) {
  std::set<uint64_t> hashes;
  for (uint64_t a = 0; a < 20; ++a) {
    for (uint64_t b = 0; b < 20; ++b) hashes.insert(RollHash(RollHash(0, a), b));
  }
  EXPECT_EQ(hashes.size(), 400u);
}

}  // namespace
}  // namespace rollcall
