// SPDX-License-Identifier: Apache-2.0
#include "shim/leftovers.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace rollcall::shim {
namespace {

Library LibraryOf(ring::Flavor flavor) {
  Library library;
  library.abi = AbiOf(flavor);
  return library;
}
const Library kMpich = LibraryOf(ring::Flavor::kMpich);

constexpr uint64_t kGroup = 0x88000000;
constexpr uint64_t kType = 0x8c000000;

// Empties the table. Returns the numbers of leftovers by operation and call path; a "+" marks a
// lower bound.
std::map<std::pair<Operation, uint32_t>, std::string> Left(uint32_t most = kMaxLeftovers) {
  Leftover rows[kMaxLeftovers];
  const uint32_t count = TakeLeftovers(rows, most);
  std::map<std::pair<Operation, uint32_t>, std::string> left;
  for (uint32_t i = 0; i < count; ++i) {
    left[{rows[i].operation, rows[i].call_path}] =
        std::to_string(rows[i].count) + (rows[i].at_least ? "+" : "");
  }
  return left;
}
using Rows = std::map<std::pair<Operation, uint32_t>, std::string>;

// The tables are shared by the whole process, so each test frees the handles that it created.
void Free(uint64_t first, uint64_t count, uint64_t times = 1) {
  for (uint64_t i = 0; i < count * times; ++i) HandleFreed(kMpich, first + i % count);
}

TEST(Leftovers, AreCountedByCallPath) {
  for (uint64_t i = 0; i < 5; ++i) HandleCreated(kMpich, kType + i, Operation::kType_vector, 10);
  for (uint64_t i = 5; i < 8; ++i) HandleCreated(kMpich, kType + i, Operation::kType_vector, 20);
  HandleCreated(kMpich, kType + 8, Operation::kType_dup, 10);
  Free(kType + 1, 2);
  Free(kType + 8, 1);
  EXPECT_EQ(Left(),
            (Rows{{{Operation::kType_vector, 10}, "3"}, {{Operation::kType_vector, 20}, "3"}}));
  EXPECT_EQ(Left(), Rows());
  Free(kType, 9);
}

TEST(Leftovers, GroupMustBeFreedAsOftenAsItWasReturned) {
  for (int i = 0; i < 3; ++i) HandleCreated(kMpich, kGroup, Operation::kComm_group, 10);
  Free(kGroup, 1, 2);
  EXPECT_EQ(Left(), (Rows{{{Operation::kComm_group, 10}, "1"}}));
  Free(kGroup, 1);
}

TEST(Leftovers, CallPathOfALeakedGroupIsUnknownIfTwoCallsReturnedIt) {
  HandleCreated(kMpich, kGroup, Operation::kComm_group, 10);
  HandleCreated(kMpich, kGroup, Operation::kComm_group, 20);
  Free(kGroup, 1);
  EXPECT_EQ(Left(), (Rows{{{Operation::kComm_group, 0}, "1"}}));
  Free(kGroup, 1);
}

// MPI returns only handles of groups repeatedly. If it returns a datatype's handle again, the old
// datatype was freed unseen.
TEST(Leftovers, ReusedHandleReplacesTheOldOne) {
  HandleCreated(kMpich, kType, Operation::kType_vector, 10);
  HandleCreated(kMpich, kType, Operation::kType_dup, 20);
  EXPECT_EQ(Left(), (Rows{{{Operation::kType_dup, 20}, "1"}}));
  Free(kType, 1);
}

TEST(Leftovers, HandleThatCouldNotBeFreedIsStillCounted) {
  HandleCreated(kMpich, kType, Operation::kType_vector, 10);
  const uint32_t freed = HandleFreed(kMpich, kType);
  UndoHandleFreed(kMpich, kType, freed);
  UndoHandleFreed(kMpich, kType + 1, HandleFreed(kMpich, kType + 1));  // was never created
  EXPECT_EQ(Left(), (Rows{{{Operation::kType_vector, 10}, "1"}}));
  Free(kType, 1);
}

TEST(Leftovers, HandleThatCouldNotBeFreedIsCountedWithItsOtherReferences) {
  HandleCreated(kMpich, kGroup, Operation::kComm_group, 10);
  const uint32_t freed = HandleFreed(kMpich, kGroup);
  HandleCreated(kMpich, kGroup, Operation::kComm_group, 20);  // by another thread in the meantime
  UndoHandleFreed(kMpich, kGroup, freed);
  EXPECT_EQ(Left(), (Rows{{{Operation::kComm_group, 20}, "2"}}));
  Free(kGroup, 1, 2);
  EXPECT_EQ(Left(), Rows());
}

TEST(Leftovers, PredefinedHandlesAreNotCounted) {
  HandleCreated(kMpich, 0x48000000, Operation::kGroup_incl, 10);  // MPI_GROUP_EMPTY
  HandleCreated(kMpich, 0x08000000, Operation::kGroup_incl, 10);  // MPI_GROUP_NULL
  Library open_mpi = LibraryOf(ring::Flavor::kOpenMpi);
  open_mpi.abi.group_empty = 0x7f0000001000;
  HandleCreated(open_mpi, 0x7f0000001000, Operation::kGroup_incl, 10);
  HandleCreated(open_mpi, 0, Operation::kGroup_incl, 10);
  HandleCreated(LibraryOf(ring::Flavor::kMpiStandardAbi), 0x109, Operation::kGroup_incl, 10);
  EXPECT_EQ(Left(), Rows());
}

TEST(Leftovers, CountBeyondTheTableIsALowerBound) {
  constexpr uint64_t kMany = 40'000;
  for (uint64_t i = 0; i < kMany; ++i)
    HandleCreated(kMpich, kType + i, Operation::kType_vector, 10);
  const Rows left = Left();
  ASSERT_EQ(left.size(), 1u);
  const std::string& text = left.begin()->second;
  EXPECT_EQ(text.back(), '+');
  EXPECT_GT(std::stoul(text), 10'000u);
  EXPECT_LE(std::stoul(text), 16'384u);
  Free(kType, kMany);
}

TEST(Leftovers, RowsBeyondTheTableAreAddedToARowOfTheSameOperation) {
  for (uint32_t i = 0; i < 8; ++i)
    HandleCreated(kMpich, kType + i, Operation::kType_vector, 500 + i);
  const Rows left = Left(2);
  EXPECT_EQ(left.size(), 2u);
  EXPECT_EQ(left.at({Operation::kType_vector, 0}), "7");
  Free(kType, 8);
}

// Deep recursions have a call path for each depth.
TEST(Leftovers, CallPathsBeyondTheTableAreStillCounted) {
  for (uint32_t i = 1; i <= 3000; ++i) {
    HandleCreated(kMpich, kType + i, Operation::kType_vector, 1000 + i);
  }
  uint64_t sum = 0;
  for (const auto& [place, count] : Left()) sum += std::stoul(count);
  EXPECT_EQ(sum, 3000u);
  Free(kType + 1, 3000);
}

TEST(Leftovers, ThreadsCreateAndFreeConcurrently) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int round = 0; round < 2000; ++round) {
        HandleCreated(kMpich, kGroup, Operation::kComm_group, 10);
        HandleCreated(kMpich, kType + t, Operation::kType_vector, 10);
        HandleFreed(kMpich, kGroup);
        HandleFreed(kMpich, kType + t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Left(), Rows());
}

}  // namespace
}  // namespace rollcall::shim
