// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/rule_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace rollcall::shim {
namespace {

constexpr uint64_t kBase = 0x7f0000001000;

Rule RuleOf(int32_t cfa) { return {RuleKind::kSp, 0, -2, cfa}; }

TEST(RuleCache, ReturnsInsertedRules) {
  RuleCache cache;
  ASSERT_TRUE(cache.Init());
  const uint64_t now = cache.generation();
  for (int i = 0; i < 2000; ++i) {
    EXPECT_EQ(cache.Find(kBase + 13 * i, now), Rule{});
    cache.Insert(kBase + 13 * i, now, RuleOf(8 * i));
  }
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(cache.Find(kBase + 13 * i, now), RuleOf(8 * i));
}

TEST(RuleCache, NewGenerationDropsAllRules) {
  RuleCache cache;
  ASSERT_TRUE(cache.Init());
  const uint64_t before = cache.generation();
  cache.Insert(kBase, before, RuleOf(8));
  cache.Clear();
  EXPECT_EQ(cache.Find(kBase, cache.generation()), Rule{});
  // A rule whose look-up began before the new generation is dropped.
  cache.Insert(kBase, before, RuleOf(16));
  EXPECT_EQ(cache.Find(kBase, cache.generation()), Rule{});
  cache.Insert(kBase, cache.generation(), RuleOf(24));
  EXPECT_EQ(cache.Find(kBase, cache.generation()), RuleOf(24));
}

TEST(RuleCache, DoesNotReturnOldRulesAfterTheGenerationWrapsAround) {
  RuleCache cache;
  ASSERT_TRUE(cache.Init());
  const uint64_t first = cache.generation();
  cache.Insert(kBase, first, RuleOf(8));
  uint64_t generations = 0;
  do {
    cache.Clear();
    ++generations;
  } while (cache.generation() != first);
  EXPECT_EQ(generations, (uint64_t{1} << (64 - arch::kPcBits)) - 1);
  EXPECT_EQ(cache.Find(kBase, first), Rule{});
}

TEST(RuleCache, FullWindowIsCleared) {
  RuleCache cache;
  ASSERT_TRUE(cache.Init());
  const uint64_t first = cache.generation();
  // All addresses map to one slot: the upper bits that the hash includes are equal.
  const auto colliding = [](uint64_t i) { return kBase + (i << 28); };
  uint64_t inserted = 0;
  while (cache.generation() == first) {
    ASSERT_LE(inserted, RuleCache::kWindow);
    cache.Insert(colliding(inserted), first, RuleOf(static_cast<int32_t>(inserted)));
    ++inserted;
  }
  EXPECT_EQ(inserted, RuleCache::kWindow + 1);
  const uint64_t second = cache.generation();
  cache.Insert(colliding(inserted), second, RuleOf(1));
  EXPECT_EQ(cache.Find(colliding(inserted), second), RuleOf(1));
}

// Threads look up and insert addresses of one slot while the generation changes; a rule must always
// be that of its address and generation. There are few entries and many generations, so that an
// entry is often reused between the two reads of a reader.
TEST(RuleCache, NeverMixesRules) {
  RuleCache cache;
  ASSERT_TRUE(cache.Init());
  const auto expected = [](uint64_t pc, uint64_t generation) {
    return RuleOf(
        static_cast<int32_t>(((pc >> 28) * 31 + (generation >> arch::kPcBits) * 7) & 0x7ffffff));
  };
  std::atomic<uint64_t> wrong{0};
  std::atomic<uint64_t> found{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 3; ++seed) {
    threads.emplace_back([&, seed] {
      uint64_t hits = 0;
      for (uint64_t i = 0; i < 1000000; ++i) {
        const uint64_t pc = kBase + ((i + seed) % 2 << 28);
        const uint64_t now = cache.generation();
        if (i % 4 == 0) cache.Insert(pc, now, expected(pc, now));
        const Rule rule = cache.Find(pc, now);
        if (rule.kind != RuleKind::kInvalid) {
          ++hits;
          if (rule != expected(pc, now)) wrong.fetch_add(1);
        }
        if (i % 8 == 0) cache.Clear();
      }
      found.fetch_add(hits);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(found.load(), 0u);
}

}  // namespace
}  // namespace rollcall::shim
