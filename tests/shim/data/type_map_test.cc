// SPDX-License-Identifier: Apache-2.0
#include "shim/data/type_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace rollcall::shim {
namespace {

const TypeMap* Basic(BasicType type) {
  const BasicTypeInfo info = FindBasicType(static_cast<uint16_t>(type));
  return MakeTypeMap(info, info.bytes, info.bytes);
}

const TypeMap* Derived(TypeShape shape, std::vector<int> ints, std::vector<int64_t> addresses,
                       std::vector<const TypeMap*> types, int64_t extent) {
  return MakeTypeMap(shape,
                     {.ints = ints.data(),
                      .int_count = static_cast<int>(ints.size()),
                      .addresses = addresses.data(),
                      .address_count = static_cast<int>(addresses.size()),
                      .types = types.data(),
                      .type_count = static_cast<int>(types.size())},
                     extent);
}

// The bytes of `count` elements, in memory whose n-th byte is n.
std::vector<int> Places(const TypeMap* map, uint64_t count = 1, size_t base = 0) {
  std::vector<unsigned char> memory(256);
  std::iota(memory.begin(), memory.end(), 0);
  const TypedBuffer buffer{reinterpret_cast<const char*>(memory.data() + base), map, count};
  std::vector<unsigned char> data(buffer.bytes());
  CopyData(buffer, 0, data.size(), data.data());
  // Piece by piece, the same.
  for (size_t i = 0; i < data.size(); ++i) {
    for (size_t length = 1; i + length <= data.size(); ++length) {
      std::vector<unsigned char> piece(length);
      CopyData(buffer, i, length, piece.data());
      EXPECT_TRUE(std::equal(piece.begin(), piece.end(), data.begin() + static_cast<ptrdiff_t>(i)));
    }
  }
  return {data.begin(), data.end()};
}

using Bytes = std::vector<int>;

TEST(TypeMap, BasicTypesAreContiguous) {
  const TypeMap* map = Basic(BasicType::kMPI_SHORT);
  ASSERT_NE(map, nullptr);
  EXPECT_TRUE(map->contiguous());
  EXPECT_EQ(map->type_class, TypeClass::kI16);
  EXPECT_EQ(Places(map, 2, 10), (Bytes{10, 11, 12, 13}));
}

TEST(TypeMap, PairsAndLongDoublesHaveGaps) {
  const BasicTypeInfo pair = FindBasicType(static_cast<uint16_t>(BasicType::kMPI_SHORT_INT));
  const TypeMap* map = MakeTypeMap(pair, 6, 8);
  ASSERT_NE(map, nullptr);
  EXPECT_EQ(Places(map, 2), (Bytes{0, 1, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15}));
#if defined(__x86_64__)
  const BasicTypeInfo real = FindBasicType(static_cast<uint16_t>(BasicType::kMPI_LONG_DOUBLE));
  EXPECT_EQ(MakeTypeMap(real, 16, 16)->bytes, 10u);
#endif
}

TEST(TypeMap, AnotherRepresentationHasNone) {
  const BasicTypeInfo info = FindBasicType(static_cast<uint16_t>(BasicType::kMPI_REAL));
  EXPECT_EQ(MakeTypeMap(info, 8, 8), nullptr);  // Fortran with 8 bytes for REAL
  const BasicTypeInfo pair = FindBasicType(static_cast<uint16_t>(BasicType::kMPI_DOUBLE_INT));
  EXPECT_EQ(MakeTypeMap(pair, 12, 12), nullptr);
}

TEST(TypeMap, VectorsBlocksAndStructs) {
  const TypeMap* two = Basic(BasicType::kMPI_SHORT);
  EXPECT_EQ(Places(Derived(TypeShape::kVector, {2, 1, 3}, {}, {two}, 8)), (Bytes{0, 1, 6, 7}));
  EXPECT_EQ(Places(Derived(TypeShape::kVector, {2, 1, -1}, {}, {two}, 4), 1, 2),
            (Bytes{2, 3, 0, 1}));
  EXPECT_EQ(Places(Derived(TypeShape::kHvector, {2, 1}, {5}, {two}, 7)), (Bytes{0, 1, 5, 6}));
  EXPECT_EQ(Places(Derived(TypeShape::kIndexed, {2, 1, 2, 4, 0}, {}, {two}, 10)),
            (Bytes{8, 9, 0, 1, 2, 3}));
  EXPECT_EQ(Places(Derived(TypeShape::kHindexed, {2, 1, 1}, {7, 3}, {two}, 9)),
            (Bytes{7, 8, 3, 4}));
  EXPECT_EQ(Places(Derived(TypeShape::kIndexedBlock, {2, 1, 3, 1}, {}, {two}, 8)),
            (Bytes{6, 7, 2, 3}));
  EXPECT_EQ(Places(Derived(TypeShape::kHindexedBlock, {2, 1}, {9, 2}, {two}, 11)),
            (Bytes{9, 10, 2, 3}));
  const TypeMap* one = Basic(BasicType::kMPI_BYTE);
  const TypeMap* both = Derived(TypeShape::kStruct, {2, 1, 1}, {0, 4}, {one, two}, 8);
  EXPECT_EQ(Places(both, 2), (Bytes{0, 4, 5, 8, 12, 13}));
  EXPECT_EQ(both->type_class, TypeClass::kUnknown);
  EXPECT_EQ(both->basics, 2u);
  EXPECT_EQ(Places(Derived(TypeShape::kResized, {}, {0, 6}, {two}, 6), 2), (Bytes{0, 1, 6, 7}));
  EXPECT_EQ(Places(Derived(TypeShape::kDup, {}, {}, {both}, 8)), (Bytes{0, 4, 5}));
  EXPECT_EQ(Places(Derived(TypeShape::kContiguous, {2}, {}, {both}, 16)),
            (Bytes{0, 4, 5, 8, 12, 13}));
}

TEST(TypeMap, SubarraysInBothOrders) {
  const TypeMap* one = Basic(BasicType::kMPI_BYTE);
  // Rows 1 and 2, columns 1 to 3, of 3 x 5.
  const Bytes expected{6, 7, 8, 11, 12, 13};
  for (const int c_order : {0, 56, 0xC}) {
    EXPECT_EQ(Places(Derived(TypeShape::kSubarray, {2, 3, 5, 2, 3, 1, 1, c_order}, {}, {one}, 15)),
              expected);
  }
  for (const int fortran_order : {1, 57, 0xF}) {
    EXPECT_EQ(
        Places(Derived(TypeShape::kSubarray, {2, 5, 3, 3, 2, 1, 1, fortran_order}, {}, {one}, 15)),
        expected);
  }
  EXPECT_EQ(Derived(TypeShape::kSubarray, {2, 3, 5, 2, 3, 1, 1, 99}, {}, {one}, 15), nullptr);
  EXPECT_EQ(Places(Derived(TypeShape::kSubarray, {3, 2, 2, 3, 2, 1, 2, 0, 1, 1, 0}, {}, {one}, 12)),
            (Bytes{4, 5, 10, 11}));
}

TEST(TypeMap, AdjacentRunsAreOne) {
  const TypeMap* two = Basic(BasicType::kMPI_SHORT);
  const TypeMap* map = Derived(TypeShape::kVector, {4, 2, 2}, {}, {two}, 16);
  EXPECT_TRUE(map->contiguous());
  EXPECT_EQ(map, Derived(TypeShape::kContiguous, {8}, {}, {two}, 16));  // shared
}

TEST(TypeMap, TooManyRunsAndUnknownPartsHaveNone) {
  const TypeMap* two = Basic(BasicType::kMPI_SHORT);
  EXPECT_NE(Derived(TypeShape::kVector, {1000, 1, 2}, {}, {two}, 4000), nullptr);
  EXPECT_EQ(Derived(TypeShape::kVector, {2'000'000'000, 1, 2}, {}, {two}, 4000), nullptr);
  EXPECT_EQ(Derived(TypeShape::kContiguous, {3}, {}, {nullptr}, 4), nullptr);
  EXPECT_EQ(Derived(TypeShape::kOther, {3}, {}, {two}, 4), nullptr);
  // Contents that are shorter than they should be.
  EXPECT_EQ(Derived(TypeShape::kIndexed, {2, 1, 2, 4}, {}, {two}, 10), nullptr);
  EXPECT_EQ(Derived(TypeShape::kStruct, {2, 1, 1}, {0, 4}, {two}, 10), nullptr);
}

TEST(TypeMap, CountsOfNothing) {
  const TypeMap* two = Basic(BasicType::kMPI_SHORT);
  const TypeMap* map = Derived(TypeShape::kContiguous, {0}, {}, {two}, 0);
  ASSERT_NE(map, nullptr);
  EXPECT_EQ(map->bytes, 0u);
  EXPECT_TRUE(Places(map, 3).empty());
  EXPECT_EQ(Places(Derived(TypeShape::kIndexed, {2, 0, 1, 9, 1}, {}, {two}, 4)), (Bytes{2, 3}));
}

}  // namespace
}  // namespace rollcall::shim
