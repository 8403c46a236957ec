// SPDX-License-Identifier: Apache-2.0
// Compares the checkpoints of a communicator with a simple implementation of the definition in
// ring_format.h.
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "proto/ring_format.h"
#include "proto/signature.h"
#include "shim/comms.h"

namespace rollcall::shim {
namespace {

struct Hashes {
  uint64_t semantic = 0;
  uint64_t path = 0;
};

uint64_t SemanticOf(uint64_t sequence) { return sequence * 0x9e3779b97f4a7c15 + 1; }
uint64_t PathOf(uint64_t sequence) { return sequence * 0xc2b2ae3d27d4eb4f + 2; }

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    entry_.history_stride = 1;
    comm_.entry = &entry_;
    history_.push_back({comm_.hashes.semantic, comm_.hashes.path});
  }

  void Step() {
    const uint64_t sequence = history_.size();
    Checkpoint(&comm_, sequence, SemanticOf(sequence), PathOf(sequence));
    const Hashes& last = history_.back();
    history_.push_back(
        {RollHash(last.semantic, SemanticOf(sequence)), RollHash(last.path, PathOf(sequence))});
  }

  void ExpectAt(const ring::Checkpoint& checkpoint, uint64_t sequence) const {
    ASSERT_EQ(checkpoint.sequence, sequence);
    if (sequence == 0) return;
    EXPECT_EQ(checkpoint.semantic_hash, history_[sequence].semantic);
    EXPECT_EQ(checkpoint.path_hash, history_[sequence].path);
  }

  void ExpectAll() const {
    const uint64_t now = history_.size() - 1;
    uint64_t distance = 1;
    for (const ring::Checkpoint& checkpoint : entry_.recent) {
      ExpectAt(checkpoint, now / distance * distance);
      distance *= 4;
    }
    uint64_t stride = 1;
    while (now / stride > ring::kHistoryCheckpoints) stride *= 2;
    ASSERT_EQ(entry_.history_stride, stride);
    for (uint64_t i = 0; i < ring::kHistoryCheckpoints; ++i) {
      const uint64_t sequence = (i + 1) * stride;
      ExpectAt(entry_.history[i], sequence <= now ? sequence : 0);
    }
  }

  ring::Member entry_{};
  Comm comm_;
  std::vector<Hashes> history_;  // after each sequence number
};

TEST_F(CheckpointTest, CheckpointsMatchTheFormatAfterEachCall) {
  for (int i = 0; i < 5000; ++i) {
    Step();
    ExpectAll();
    if (HasFatalFailure()) FAIL() << "after call " << i + 1;
  }
}

TEST_F(CheckpointTest, CheckpointsMatchTheFormatAfterManyCalls) {
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    for (uint32_t steps = random() % 30000; steps > 0; --steps) Step();
    ExpectAll();
    if (HasFatalFailure()) FAIL() << "after call " << history_.size() - 1;
  }
}

// Ranks that diverge at a call differ in every checkpoint from that call on and in no earlier one.
TEST_F(CheckpointTest, CheckpointsLocateTheDivergenceOfTwoRanks) {
  ring::Member other_entry{};
  other_entry.history_stride = 1;
  Comm other;
  other.entry = &other_entry;
  constexpr uint64_t kParting = 777;
  for (uint64_t sequence = 1; sequence <= 2000; ++sequence) {
    Step();
    Checkpoint(&other, sequence, SemanticOf(sequence) + (sequence == kParting ? 1 : 0),
               PathOf(sequence));
  }
  for (uint64_t i = 0; i < ring::kHistoryCheckpoints; ++i) {
    const uint64_t sequence = entry_.history[i].sequence;
    ASSERT_EQ(other_entry.history[i].sequence, sequence);
    if (sequence == 0) continue;
    EXPECT_EQ(entry_.history[i].semantic_hash == other_entry.history[i].semantic_hash,
              sequence < kParting)
        << sequence;
    EXPECT_EQ(entry_.history[i].path_hash, other_entry.history[i].path_hash);
  }
}

// The checkpoints after rejected calls equal those of a communicator without these calls.
TEST_F(CheckpointTest, RejectedCallReturnsItsNumber) {
  uint64_t rejected = 0;
  for (uint64_t sequence = 1; sequence <= 3000; ++sequence) {
    // At powers of two, where checkpoints are thinned out, two calls are rejected.
    const bool rounded = (sequence & (sequence - 1)) == 0;
    for (uint64_t n = 0; n < (rounded ? 2u : sequence % 3 == 0 ? 1u : 0u); ++n, ++rejected) {
      const uint64_t number = NextSequence(&comm_);
      ASSERT_EQ(number, sequence);
      const RollingHashes before = Checkpoint(&comm_, number, 77 + n, 78 + n);
      ReleaseSequence(&comm_, number, before);
      ASSERT_EQ(entry_.entered, sequence - 1);
    }
    ASSERT_EQ(NextSequence(&comm_), sequence);
    Step();
    ExpectAll();
  }
  EXPECT_EQ(entry_.rejected, rejected);
  EXPECT_EQ(entry_.flags & ring::kSawConcurrency, 0u);
}

// The error handler of a rejected call makes another collective call, which is also rejected.
TEST_F(CheckpointTest, NestedRejectedCallsReturnTheirNumbers) {
  NextSequence(&comm_);
  Step();
  const RollingHashes before = comm_.hashes;
  const uint64_t outer = NextSequence(&comm_);
  const RollingHashes before_outer = Checkpoint(&comm_, outer, 77, 78);
  const uint64_t inner = NextSequence(&comm_);
  const RollingHashes before_inner = Checkpoint(&comm_, inner, 79, 80);
  ReleaseSequence(&comm_, inner, before_inner);
  ReleaseSequence(&comm_, outer, before_outer);
  EXPECT_EQ(comm_.hashes.semantic, before.semantic);
  EXPECT_EQ(comm_.hashes.path, before.path);
  ASSERT_EQ(NextSequence(&comm_), outer);
  Step();
  NextSequence(&comm_);
  Step();
  ExpectAll();
}

TEST_F(CheckpointTest, NumberOfARejectedCallIsKeptIfALaterNumberWasTaken) {
  const uint64_t rejected = NextSequence(&comm_);
  NextSequence(&comm_);
  ReleaseSequence(&comm_, rejected, {});
  EXPECT_EQ(entry_.entered, 2u);
  EXPECT_EQ(entry_.rejected, 1u);
  EXPECT_NE(entry_.flags & ring::kSawConcurrency, 0u);
}

// A reader that reads a sequence number also reads its hashes: while the hashes are being written,
// the number is 0.
TEST_F(CheckpointTest, ReaderNeverSeesATornCheckpoint) {
  constexpr uint64_t kCalls = 300000;
  std::vector<uint64_t> semantic(kCalls + 1);
  for (uint64_t i = 1; i <= kCalls; ++i) semantic[i] = RollHash(semantic[i - 1], SemanticOf(i));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> looks{0};
  uint64_t wrong = 0, seen = 0;
  std::thread reader([&] {
    const auto look = [&](const ring::Checkpoint& checkpoint) {
      const uint64_t before = __atomic_load_n(&checkpoint.sequence, __ATOMIC_ACQUIRE);
      const uint64_t hash = __atomic_load_n(&checkpoint.semantic_hash, __ATOMIC_RELAXED);
      std::atomic_thread_fence(std::memory_order_acquire);
      const uint64_t after = __atomic_load_n(&checkpoint.sequence, __ATOMIC_RELAXED);
      if (before == 0 || before != after) return;
      ++seen;
      wrong += hash == semantic[before] ? 0 : 1;
    };
    while (!stop.load(std::memory_order_relaxed)) {
      for (const ring::Checkpoint& checkpoint : entry_.recent) look(checkpoint);
      for (const ring::Checkpoint& checkpoint : entry_.history) look(checkpoint);
      looks.fetch_add(1, std::memory_order_relaxed);
    }
  });
  for (uint64_t i = 1; i <= kCalls; ++i) {
    Checkpoint(&comm_, i, SemanticOf(i), PathOf(i));
    // Both threads must make progress, also if they share a core.
    if (i % (kCalls / 100) == 0) {
      const uint64_t before = looks.load(std::memory_order_relaxed);
      while (looks.load(std::memory_order_relaxed) == before) std::this_thread::yield();
    }
  }
  stop = true;
  reader.join();
  EXPECT_GT(seen, 0u);
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace rollcall::shim
