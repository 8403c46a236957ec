// SPDX-License-Identifier: Apache-2.0
#include "shim/data/buffer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace rollcall::shim {
namespace {

const TypeMap* Doubles() {
  const BasicTypeInfo info = FindBasicType(static_cast<uint16_t>(BasicType::kMPI_DOUBLE));
  return MakeTypeMap(info, 8, 8);
}

ring::DataRecord ReadRecord(const TypedBuffer& buffer, const HowToRead& how) {
  ring::DataRecord record;
  memset(&record, 0xee, sizeof(record));
  ReadBuffer(buffer, how, &record);
  return record;
}

Fingerprint SumsOf(const ring::DataRecord& record) {
  return {record.words, record.sum, record.weighted_sum, record.squared_sum, record.exclusive};
}

std::vector<double> Values(size_t count) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<double>(i));
  return values;
}

TypedBuffer Of(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), Doubles(), values.size()};
}

TEST(ReadBuffer, FewWordsAreKept) {
  const std::vector<double> values = Values(8);
  const ring::DataRecord record = ReadRecord(Of(values), {});
  EXPECT_EQ(record.piece_kind, static_cast<uint16_t>(ring::DataPieces::kWords));
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(record.pieces[i], std::bit_cast<uint64_t>(values[i]));
  }
  EXPECT_EQ(record.bytes, 64u);
  EXPECT_EQ(record.words, 8u);
}

TEST(ReadBuffer, ADifferentElementChangesItsPartOnly) {
  for (const size_t count : {9u, 64u, 65u, 1000u, 5000u}) {
    std::vector<double> values = Values(count);
    const ring::DataRecord before = ReadRecord(Of(values), {});
    EXPECT_EQ(before.reading, static_cast<uint16_t>(ring::DataReading::kWhole));
    EXPECT_EQ(before.words, count);
    const size_t part = (count + ring::kDataPieces - 1) / ring::kDataPieces;
    for (const size_t at : {size_t{0}, count / 2, count - 1}) {
      const double old = values[at];
      values[at] += 1;
      const ring::DataRecord after = ReadRecord(Of(values), {});
      for (size_t piece = 0; piece < ring::kDataPieces; ++piece) {
        EXPECT_EQ(before.pieces[piece] == after.pieces[piece], piece != at / part);
      }
      EXPECT_NE(SumsOf(before), SumsOf(after));
      values[at] = old;
    }
  }
}

TEST(ReadBuffer, LayoutDoesNotMatter) {
  const std::vector<double> values = Values(700);
  std::vector<double> spread(1400);
  for (size_t i = 0; i < 700; ++i) spread[2 * i] = values[i];
  const int ints[] = {7, 1, 2};
  const TypeMap* part = Doubles();
  const TypeMap* strided = MakeTypeMap(
      TypeShape::kVector, {.ints = ints, .int_count = 3, .types = &part, .type_count = 1}, 14 * 8);
  const TypedBuffer other{reinterpret_cast<const char*>(spread.data()), strided, 100};
  for (const uint64_t sample : {0u, 1u, 21u, 64u}) {
    const HowToRead how{.sample = sample, .sequence = 12345, .scan = Scan::kF64};
    const ring::DataRecord a = ReadRecord(Of(values), how), b = ReadRecord(other, how);
    EXPECT_EQ(SumsOf(a), SumsOf(b)) << sample;
    EXPECT_EQ(memcmp(a.pieces, b.pieces, sizeof(a.pieces)), 0);
    EXPECT_EQ(HashBuffer(Of(values), how), HashFingerprint(SumsOf(a)));
    EXPECT_EQ(HashBuffer(other, how), HashFingerprint(SumsOf(a)));
  }
}

TEST(ReadBuffer, ASampleHasTheWordsThatTheFormatSays) {
  std::vector<double> values = Values(1000);
  const HowToRead how{.sample = 64, .sequence = 99};
  const ring::DataRecord before = ReadRecord(Of(values), how);
  EXPECT_EQ(before.reading, static_cast<uint16_t>(ring::DataReading::kSampled));
  EXPECT_EQ(before.words, 64u);
  std::vector<bool> chosen(1000);
  for (uint64_t k = 0; k < 64; ++k) chosen[ring::SampledWord(1000, 64, 99, k)] = true;
  for (size_t i = 0; i < 1000; ++i) {
    const double old = values[i];
    values[i] += 1;
    EXPECT_EQ(SumsOf(ReadRecord(Of(values), how)) == SumsOf(before), !chosen[i]) << i;
    values[i] = old;
  }
}

TEST(ReadBuffer, SuccessiveCallsSampleEveryWord) {
  constexpr uint64_t kWords = 5000;
  std::vector<bool> seen(kWords);
  size_t count = 0;
  uint64_t sequence = 0;
  for (; count < 64 * (kWords / 64) && sequence < 2000; ++sequence) {
    for (uint64_t k = 0; k < 64; ++k) {
      const uint64_t at = ring::SampledWord(kWords, 64, sequence, k);
      ASSERT_LT(at, kWords);
      if (!seen[at]) ++count;
      seen[at] = true;
    }
  }
  EXPECT_LT(sequence, 2000u);
}

TEST(ReadBuffer, FindsTheFirstNonFiniteElement) {
  for (const size_t count : {3u, 64u, 2000u}) {
    std::vector<double> values = Values(count);
    values[count - 1] = -std::numeric_limits<double>::infinity();
    values[count - 2] = std::nan("");
    const ring::DataRecord record = ReadRecord(Of(values), {.scan = Scan::kF64});
    EXPECT_EQ(record.nans, 1u);
    EXPECT_EQ(record.infinities, 1u);
    EXPECT_EQ(record.non_finite, count - 2);
    uint64_t bits;
    memcpy(&bits, &values[count - 2], sizeof(bits));
    EXPECT_EQ(record.non_finite_bits, bits);
    EXPECT_EQ(ReadRecord(Of(values), {}).nans, 0u);  // not scanned
  }
  std::vector<double> values = Values(1000);
  const uint64_t at = ring::SampledWord(1000, 64, 7, 30);
  values[at] = std::nan("");
  const ring::DataRecord record =
      ReadRecord(Of(values), {.sample = 64, .sequence = 7, .scan = Scan::kF64});
  EXPECT_EQ(record.nans, 1u);
  EXPECT_EQ(record.non_finite, at);
}

TEST(ReadBuffer, ShortElementsAreCountedAmongTheElements) {
  const BasicTypeInfo info = FindBasicType(static_cast<uint16_t>(BasicType::kMPI_FLOAT));
  std::vector<float> values(1001, 1.5f);
  values[777] = std::nanf("");
  const TypedBuffer buffer{reinterpret_cast<const char*>(values.data()), MakeTypeMap(info, 4, 4),
                           values.size()};
  const ring::DataRecord record = ReadRecord(buffer, {.scan = Scan::kF32});
  EXPECT_EQ(record.nans, 1u);
  EXPECT_EQ(record.non_finite, 777u);
  EXPECT_EQ(record.words, 501u);
}

TEST(ReadBuffer, CountsDifferentWords) {
  const auto count = [](const std::vector<double>& values, uint64_t sample = 0) {
    return ReadRecord(Of(values), {.sample = sample, .count_distinct = true}).distinct;
  };
  EXPECT_EQ(count({0, 0, 0, 0}), 1u);
  EXPECT_EQ(count({0, 1, 0, 1, 2}), 3u);
  EXPECT_EQ(count({0, std::bit_cast<double>(uint64_t{1} << 32), -0.0}), 3u);
  EXPECT_EQ(count(Values(8)), 8u);
  EXPECT_EQ(count(Values(10)), ring::kMaxDistinct);

  std::vector<double> values(500, 1.0);
  EXPECT_EQ(count(values), 1u);
  EXPECT_EQ(count(values, 64), 1u);
  const uint64_t read = ring::SampledWord(500, ring::kSampledWords, 0, 63);
  values[read - 1] = 2;  // not in the sample
  EXPECT_EQ(count(values), 1u);
  values[read] = 3;
  EXPECT_EQ(count(values), 2u);
  EXPECT_EQ(count(values, 64), 2u);
  EXPECT_EQ(count(Values(500)), ring::kMaxDistinct);
  EXPECT_EQ(count(Values(500), 64), ring::kMaxDistinct);
}

TEST(ReadBuffer, PartsAreKeptOnlyIfWanted) {
  const std::vector<double> values = Values(500);
  const ring::DataRecord with = ReadRecord(Of(values), {});
  const ring::DataRecord without = ReadRecord(Of(values), {.keep_parts = false});
  EXPECT_EQ(with.piece_kind, static_cast<uint16_t>(ring::DataPieces::kParts));
  EXPECT_EQ(without.piece_kind, static_cast<uint16_t>(ring::DataPieces::kNone));
  EXPECT_EQ(SumsOf(with), SumsOf(without));
}

TEST(ReadBuffer, NothingIsReadOfNothing) {
  const TypedBuffer buffer{nullptr, Doubles(), 0};
  const ring::DataRecord record = ReadRecord(buffer, {.scan = Scan::kF64, .count_distinct = true});
  EXPECT_EQ(record.words, 0u);
  EXPECT_EQ(record.distinct, 0u);
  EXPECT_EQ(SumsOf(record), Fingerprint{});
  EXPECT_EQ(HashBuffer(buffer, {}), 0u);
}

}  // namespace
}  // namespace rollcall::shim
