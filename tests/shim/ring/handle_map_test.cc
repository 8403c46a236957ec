// SPDX-License-Identifier: Apache-2.0
#include "shim/handle_map.h"

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

#include "gtest/gtest.h"

namespace rollcall::shim {
namespace {

// Handles as MPI libraries create them: consecutive small numbers, or addresses of equal stride.
uint64_t MpichHandle(uint64_t i) { return 0x84000000 + i; }
uint64_t PointerHandle(uint64_t i) { return 0x55d0'0000'1000 + i * 496; }

TEST(HandleMap, FindsInsertedKeysUntilTheyAreErased) {
  static HandleMap<256> map;
  EXPECT_EQ(map.Find(7), map.kMissing);
  ASSERT_TRUE(map.Insert(7, 70));
  ASSERT_TRUE(map.Insert(8, 80));
  EXPECT_EQ(map.Find(7), 70u);
  EXPECT_EQ(map.Find(8), 80u);
  EXPECT_EQ(map.Erase(7), 70u);
  EXPECT_EQ(map.Find(7), map.kMissing);
  EXPECT_EQ(map.Erase(7), map.kMissing);
  EXPECT_EQ(map.Find(8), 80u);
}

TEST(HandleMap, ExistingKeyGetsTheNewValue) {
  static HandleMap<256> map;
  ASSERT_TRUE(map.Insert(7, 1));
  ASSERT_TRUE(map.Insert(7, 2));
  EXPECT_EQ(map.Find(7), 2u);
  EXPECT_EQ(map.Erase(7), 2u);
  EXPECT_EQ(map.Find(7), map.kMissing);
}

// A key that is stored after an erased cell must not be inserted a second time before it; otherwise
// erasing it once would make its old value visible again.
TEST(HandleMap, ReinsertingAfterAnErasedCellLeavesOneEntry) {
  static HandleMap<64> map;  // the window is the whole table
  for (uint64_t key = 1; key <= 40; ++key) ASSERT_TRUE(map.Insert(key, static_cast<uint32_t>(key)));
  for (uint64_t key = 1; key <= 20; ++key) map.Erase(key);
  for (uint64_t key = 21; key <= 40; ++key) ASSERT_TRUE(map.Insert(key, 1000));
  for (uint64_t key = 21; key <= 40; ++key) {
    EXPECT_EQ(map.Erase(key), 1000u);
    EXPECT_EQ(map.Find(key), map.kMissing) << key;
  }
}

TEST(HandleMap, KeysThatMarkCellsAreRefused) {
  static HandleMap<64> map;
  for (const uint64_t key : {uint64_t{0}, ~uint64_t{0}, ~uint64_t{1}}) {
    EXPECT_FALSE(map.Insert(key, 1));
    EXPECT_EQ(map.Find(key), map.kMissing);
    EXPECT_EQ(map.Erase(key), map.kMissing);
  }
}

TEST(HandleMap, FullTableIsReportedAndKeepsItsEntries) {
  static HandleMap<64> map;
  uint32_t stored = 0;
  for (uint64_t i = 0; i < 100; ++i) stored += map.Insert(MpichHandle(i), 1) ? 1 : 0;
  EXPECT_EQ(stored, 64u);
  for (uint64_t i = 0; i < 64; ++i) EXPECT_EQ(map.Find(MpichHandle(i)), 1u) << i;
  // An erased cell is reused.
  map.Erase(MpichHandle(10));
  EXPECT_TRUE(map.Insert(MpichHandle(99), 2));
  EXPECT_EQ(map.Find(MpichHandle(99)), 2u);
}

TEST(HandleMap, EraseAndTidyKeepsTheOthers) {
  static HandleMap<64> map;
  for (uint64_t key = 1; key <= 50; ++key) ASSERT_TRUE(map.Insert(key, static_cast<uint32_t>(key)));
  for (uint64_t key = 1; key <= 50; key += 2) map.EraseAndCompact(key);
  for (uint64_t key = 1; key <= 50; ++key) {
    EXPECT_EQ(map.Find(key), key % 2 == 0 ? key : map.kMissing) << key;
  }
}

// Compares the map with std::unordered_map while handles are inserted and erased.
TEST(HandleMap, AgreesWithAnOrdinaryMap) {
  for (const auto handle : {MpichHandle, PointerHandle}) {
    auto map = std::make_unique<HandleMap<1024>>();  // value-initialised: zeroed
    std::unordered_map<uint64_t, uint32_t> expected;
    std::mt19937 random(12345);
    for (uint32_t step = 0; step < 200000; ++step) {
      const uint64_t key = handle(random() % 400);
      switch (random() % 4) {
        case 0:
          ASSERT_TRUE(map->Insert(key, step));
          expected[key] = step;
          break;
        case 1: {
          const auto found = expected.find(key);
          ASSERT_EQ(map->Erase(key), found == expected.end() ? map->kMissing : found->second);
          expected.erase(key);
          break;
        }
        case 2:
          map->EraseAndCompact(key);
          expected.erase(key);
          break;
        default: {
          const auto found = expected.find(key);
          ASSERT_EQ(map->Find(key), found == expected.end() ? map->kMissing : found->second);
        }
      }
    }
  }
}

// Every thread has its own handles, as in MPI (using a handle while another thread frees it is an
// error of the program). All threads share the table, which is nearly full.
TEST(HandleMap, ThreadsDoNotDisturbEachOther) {
  static HandleMap<2048> map;
  constexpr uint32_t kThreads = 4;
  std::atomic<uint64_t> mistakes{0};
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(thread);
      uint32_t mine[200];
      for (uint32_t& value : mine) value = map.kMissing;
      for (uint32_t step = 0; step < 50000; ++step) {
        const uint32_t which = random() % 200;
        const uint64_t key = MpichHandle(which * kThreads + thread);
        const uint32_t value = step;
        if (mine[which] == map.kMissing) {
          mistakes += map.Insert(key, value) ? 0 : 1;
          mine[which] = value;
        } else if (random() % 2 == 0) {
          mistakes += map.Erase(key) == mine[which] ? 0 : 1;
          mine[which] = map.kMissing;
        }
        mistakes += map.Find(key) == mine[which] ? 0 : 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(mistakes, 0u);
}

}  // namespace
}  // namespace rollcall::shim
