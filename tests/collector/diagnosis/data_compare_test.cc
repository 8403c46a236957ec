// SPDX-License-Identifier: Apache-2.0
// Where two buffers differ, by the sums of their words alone.
#include "collector/diagnosis/detectors/data_compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "tests/support/trace_data.h"
#include "tests/support/verdict_case.h"

namespace rollcall {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes BytesOf(const std::string& text, TypeClass type) { return DataBytes(text, type, 0).value(); }

DataDifference Difference(const std::string& a, const std::string& b, TypeClass type,
                          bool sampled = false) {
  return FindDifference(ReadBytes(BytesOf(a, type), type, 5, sampled),
                        ReadBytes(BytesOf(b, type), type, 5, sampled));
}

TEST(DataCompare, WordsOfSmallBuffersAreCompared) {
  const DataDifference difference = Difference("1,2,3,4,5", "1,2,3,4.5,7", TypeClass::kF64);
  EXPECT_TRUE(difference.exact);
  EXPECT_EQ(difference.element, 3u);
  ASSERT_TRUE(difference.has_values);
  EXPECT_EQ(ValueText(TypeClass::kF64, difference.deviating), "4");
  EXPECT_EQ(ValueText(TypeClass::kF64, difference.agreeing), "4.5");
  EXPECT_EQ(difference.flipped, uint64_t{1} << 49);
  EXPECT_EQ(difference.ulps, uint64_t{1} << 51) << "from 5 to 7";
}

TEST(DataCompare, OneWordOfManyIsFound) {
  DataDifference difference = Difference("1..1000", "1..499,4596,501..1000", TypeClass::kI64);
  EXPECT_TRUE(difference.exact);
  EXPECT_EQ(difference.element, 499u);
  EXPECT_EQ(difference.flipped, 500u ^ 4596u);
  EXPECT_FALSE(difference.has_ulps);
  EXPECT_FALSE(difference.has_values);

  difference = Difference("1x500,x3f800001,1x499", "1x1000", TypeClass::kF32);
  EXPECT_TRUE(difference.exact);
  EXPECT_EQ(difference.element, 500u);
  EXPECT_TRUE(difference.has_ulps);
  EXPECT_EQ(difference.ulps, 1u);
}

// The lower element decreases, so that the change of the word borrows from the upper one.
TEST(DataCompare, ElementsOfOneWordAreTakenApart) {
  const DataDifference difference =
      Difference("1x100,x3f7ffffe,x3f800003,1x98", "1x200", TypeClass::kF32);
  EXPECT_TRUE(difference.exact);
  EXPECT_EQ(difference.element, 100u);
  EXPECT_EQ(difference.ulps, 3u);
  const DataDifference halves =
      Difference("x3c00x400,x3bff,x3c00x399", "x3c00x800", TypeClass::kF16);
  EXPECT_TRUE(halves.exact);
  EXPECT_EQ(halves.element, 400u);
  EXPECT_EQ(halves.ulps, 1u);
}

TEST(DataCompare, SignsHaveNoDistanceUnlessTheValuesAreKnown) {
  DataDifference difference =
      Difference("1x99,xc008000000000001", "1x99,x4008000000000000", TypeClass::kF64);
  EXPECT_TRUE(difference.exact);
  EXPECT_FALSE(difference.has_ulps) << "it may be any number that changed its sign";
  difference = Difference("1,x8000000000000000", "1,0", TypeClass::kF64);
  EXPECT_TRUE(difference.has_ulps);
  EXPECT_EQ(difference.ulps, 0u);
}

TEST(DataCompare, SampledWordsAreMappedBack) {
  const DataDifference difference = Difference("0x10000", "1x10000", TypeClass::kI64, true);
  EXPECT_FALSE(difference.exact);
  EXPECT_EQ(difference.element, ring::SampledWord(10000, ring::kSampledWords, 5, 0));
  const uint64_t at = ring::SampledWord(10000, ring::kSampledWords, 5, 20);
  const DataDifference one =
      Difference("0x" + std::to_string(at) + ",7,0x" + std::to_string(9999 - at), "0x10000",
                 TypeClass::kI64, true);
  EXPECT_TRUE(one.exact);
  EXPECT_EQ(one.element, at);
}

// Compares after random changes of single bits. Returns how many differences were said to be of one
// word, and of these how many were not.
std::pair<int, int> Guess(std::mt19937_64* random, uint64_t most_changes) {
  int one = 0;
  int wrong = 0;
  for (int round = 0; round < 20000; ++round) {
    const size_t words = 9 + (*random)() % 300;
    std::vector<uint64_t> a(words);
    for (uint64_t& word : a) word = (*random)();
    std::vector<uint64_t> b = a;
    const uint64_t changes = 1 + (*random)() % most_changes;
    for (uint64_t k = 0; k < changes; ++k) {
      b[(*random)() % words] ^= uint64_t{1} << ((*random)() % 64);
    }
    if (a == b) continue;
    const auto read = [&](const std::vector<uint64_t>& from) {
      Bytes bytes(8 * words);
      std::memcpy(bytes.data(), from.data(), bytes.size());
      return ReadBytes(bytes, TypeClass::kI64, 1, false);
    };
    const DataDifference difference = FindDifference(read(b), read(a));
    const auto first =
        static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
    if (!difference.exact) {
      EXPECT_LE(difference.element, first) << round;
      EXPECT_GE(difference.last, first) << round;
      continue;
    }
    ++one;
    wrong += difference.element != first || difference.flipped != (a[first] ^ b[first]);
  }
  return {one, wrong};
}

TEST(DataCompare, NamesTheWordOfASingleChange) {
  std::mt19937_64 random(7);
  const auto [one, wrong] = Guess(&random, 1);
  EXPECT_GT(one, 17000) << "all but those in the highest bits";
  EXPECT_EQ(wrong, 0);
}

// Of two changes in high bits, the sums may be those of one.
TEST(DataCompare, HardlyEverTakesSeveralChangesForOne) {
  std::mt19937_64 random(8);
  const auto [one, wrong] = Guess(&random, 3);
  EXPECT_GT(one, 5000);
  EXPECT_LT(wrong, one / 200);
}

TEST(DataCompare, OtherSizesReadingsAndPaddedTypesAreNotComparable) {
  const DataRead read = ReadBytes(BytesOf("1x100", TypeClass::kF64), TypeClass::kF64, 1, false);
  DataRead other = read;
  EXPECT_TRUE(AreComparable(read, other));
  other.type_class = TypeClass::kF80;
  EXPECT_FALSE(AreComparable(read, other));
  other = ReadBytes(BytesOf("1x100", TypeClass::kF64), TypeClass::kF64, 1, true);
  EXPECT_FALSE(AreComparable(read, other));
  other = ReadBytes(BytesOf("1x99", TypeClass::kF64), TypeClass::kF64, 1, false);
  EXPECT_FALSE(AreComparable(read, other));
}

TEST(DataFindings, CanBeSwitchedOff) {
  const verdict_case::Case test = verdict_case::Load("data_nan_input");
  DiagnoseOptions options = test.options;
  options.judge_data = false;
  EXPECT_TRUE(Diagnose(verdict_case::Parse(test.trace), options).findings.empty());
}

// A hang's finding is the same with and without a finding about data.
TEST(DataFindings, DoNotChangeThoseOfAHang) {
  const verdict_case::Case test = verdict_case::Load("data_nan_and_hang");
  const Trace trace = verdict_case::Parse(test.trace);
  DiagnoseOptions options = test.options;
  const Report both = Diagnose(trace, options);
  options.judge_data = false;
  const Report hang = Diagnose(trace, options);
  ASSERT_EQ(both.findings.size(), 2u);
  ASSERT_EQ(hang.findings.size(), 1u);
  EXPECT_EQ(both.status, hang.status);
  EXPECT_EQ(both.findings[0].title, hang.findings[0].title);
  EXPECT_EQ(both.findings[0].notes, hang.findings[0].notes);
  EXPECT_EQ(both.findings[0].certainty, hang.findings[0].certainty);
}

}  // namespace
}  // namespace rollcall
