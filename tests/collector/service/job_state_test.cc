// SPDX-License-Identifier: Apache-2.0
#include "collector/service/job_state.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "proto/operations.h"
#include "proto/ring_format.h"

namespace rollcall::service {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1000 * kSecond;

// A running rank of a job of four that has been quiet for a second, inside or outside a call.
rpc::ProcessDigest Digest(int32_t rank, bool in_call) {
  rpc::ProcessDigest digest;
  digest.set_id(static_cast<uint64_t>(rank) + 1);
  digest.set_world_rank(rank);
  digest.set_world_size(4);
  digest.set_job_key(7);
  digest.set_phase(static_cast<uint32_t>(ring::Phase::kRunning));
  digest.set_activity(10);
  digest.set_quiet(true);
  digest.set_idle_ns(kSecond);
  if (in_call) digest.add_blocked()->set_operation(1);
  return digest;
}

class JobStateTest : public ::testing::Test {
 protected:
  void Give(const rpc::ProcessDigest& digest) { state_.OnDigest(1, digest, kNow); }
  Reason Check(int64_t later_ns = 0) { return state_.Check(kNow + later_ns).reason; }

  JobState state_{{.times = {.stall_after_ns = 30 * kSecond}}};
};

TEST_F(JobStateTest, NoSuspicionIfNoRankWaits) {
  for (int rank = 0; rank < 4; ++rank) Give(Digest(rank, false));
  EXPECT_EQ(Check(100 * kSecond), Reason::kNone);
}

TEST_F(JobStateTest, DistinguishesAllRanksWaitingFromSome) {
  for (int rank = 0; rank < 4; ++rank) Give(Digest(rank, true));
  EXPECT_EQ(Check(), Reason::kAllWait);
  rpc::ProcessDigest moving = Digest(2, true);
  moving.set_quiet(false);
  moving.set_idle_ns(0);
  Give(moving);
  EXPECT_EQ(Check(), Reason::kSomeWait);
}

TEST_F(JobStateTest, PollingCountsAsWaiting) {
  for (int rank = 0; rank < 3; ++rank) Give(Digest(rank, true));
  rpc::ProcessDigest polling = Digest(3, false);
  polling.set_polling(true);
  Give(polling);
  EXPECT_EQ(Check(), Reason::kAllWait);
}

TEST_F(JobStateTest, NoSuspicionIfSomeRanksWaitBriefly) {
  rpc::ProcessDigest waiting = Digest(0, true);
  waiting.set_idle_ns(100'000'000);
  Give(waiting);
  Give(Digest(1, false));
  EXPECT_EQ(Check(), Reason::kNone);
  EXPECT_EQ(Check(kSecond), Reason::kSomeWait);
}

TEST_F(JobStateTest, StartingRankCountsAsWaitingAfterADelay) {
  rpc::ProcessDigest starting = Digest(0, true);
  starting.set_phase(static_cast<uint32_t>(ring::Phase::kStarting));
  starting.set_idle_ns(0);
  Give(starting);
  EXPECT_EQ(Check(kSecond / 2), Reason::kNone);
  EXPECT_EQ(Check(2 * kSecond), Reason::kAllWait);
}

TEST_F(JobStateTest, RankIsStalledOnlyAfterTheThreshold) {
  Give(Digest(0, true));
  Give(Digest(1, false));
  EXPECT_EQ(Check(28 * kSecond), Reason::kSomeWait);
  const Suspicion suspicion = state_.Check(kNow + 29 * kSecond);
  EXPECT_EQ(suspicion.reason, Reason::kStalled);
  EXPECT_EQ(suspicion.stalled, std::vector<uint64_t>{2});
}

TEST_F(JobStateTest, RankIsSlowBeforeItIsStalled) {
  Give(Digest(1, false));
  EXPECT_TRUE(state_.Check(kNow + 20 * kSecond).slow.empty()) << "nobody waits for it";
  Give(Digest(0, true));
  EXPECT_TRUE(state_.Check(kNow + 13 * kSecond).slow.empty());
  EXPECT_EQ(state_.Check(kNow + 14 * kSecond).slow, std::vector<uint64_t>{2});
  EXPECT_TRUE(state_.Check(kNow + 29 * kSecond).slow.empty());
}

// The diagnosis may report more about the same state after 10 s, 30 s, and each of the two options.
TEST_F(JobStateTest, FingerprintChangesAtEachThreshold) {
  JobState state{{.times = {.kill_after_ns = 20 * kSecond, .stall_after_ns = 60 * kSecond}}};
  for (int rank = 0; rank < 3; ++rank) state.OnDigest(1, Digest(rank, true), kNow - kSecond);
  for (const bool all_wait : {false, true}) {
    state.OnDigest(1, Digest(3, all_wait), kNow - kSecond);
    std::vector<int64_t> changes;
    uint64_t last = state.Check(kNow).fingerprint;
    for (int64_t second = 1; second < 100; ++second) {
      // The digests came a second ago and reported a second without movement.
      const uint64_t now = state.Check(kNow + (second - 2) * kSecond).fingerprint;
      if (now != last && second > 2) changes.push_back(second);
      last = now;
      if (!all_wait && second == 59) break;  // after that, the computing rank is stalled
    }
    const std::vector<int64_t> expected = {10, 20, 30, 60};
    EXPECT_EQ(changes,
              all_wait ? expected : std::vector<int64_t>(expected.begin(), expected.end() - 1));
  }
}

TEST_F(JobStateTest, MarksRankInAbort) {
  Give(Digest(0, true));
  EXPECT_FALSE(state_.processes().at(1).aborts());
  rpc::ProcessDigest digest = Digest(0, true);
  digest.mutable_blocked(0)->set_operation(static_cast<uint32_t>(Operation::kAbort));
  Give(digest);
  EXPECT_TRUE(state_.processes().at(1).aborts());
}

TEST_F(JobStateTest, EndedRankIsSuspiciousOnlyIfOthersWait) {
  Give(Digest(0, false));
  rpc::ProcessDigest ended = Digest(1, false);
  ended.set_ended(true);
  Give(ended);
  EXPECT_EQ(Check(), Reason::kNone);
  Give(Digest(0, true));
  EXPECT_NE(Check(), Reason::kEnded) << "the launcher may be ending the job";
  EXPECT_EQ(Check(kSecond / 2), Reason::kEnded);
}

TEST_F(JobStateTest, ComparesHashesAtTheSameSequenceNumber) {
  const auto with_mark = [](int rank, uint64_t sequence, uint64_t hash) {
    rpc::ProcessDigest digest = Digest(rank, false);
    rpc::MemberDigest* member = digest.add_members();
    member->set_key(5);
    member->set_size(4);
    member->add_marks()->set_sequence(sequence);
    member->mutable_marks(0)->set_semantic_hash(hash);
    return digest;
  };
  Give(with_mark(0, 16, 111));
  Give(with_mark(1, 17, 222));
  EXPECT_EQ(Check(), Reason::kNone);
  Give(with_mark(2, 16, 333));
  EXPECT_EQ(Check(), Reason::kMismatch);
  state_.ClearMismatches();
  EXPECT_EQ(Check(), Reason::kNone);
  rpc::ProcessDigest unordered = with_mark(0, 16, 111);
  unordered.mutable_members(0)->set_unordered(true);
  Give(with_mark(2, 16, 333));
  Give(unordered);
  EXPECT_EQ(Check(), Reason::kNone);
}

TEST_F(JobStateTest, DoesNotMixTwoJobs) {
  for (int rank = 0; rank < 4; ++rank) Give(Digest(rank, true));
  rpc::ProcessDigest other = Digest(0, false);
  other.set_id(99);
  other.set_job_key(8);
  Give(other);
  EXPECT_EQ(Check(), Reason::kAllWait);
}

TEST_F(JobStateTest, ForgetsProcessesOfALostAgent) {
  for (int rank = 0; rank < 4; ++rank) Give(Digest(rank, true));
  state_.RemoveAgent(1);
  EXPECT_EQ(Check(), Reason::kNone);
  EXPECT_TRUE(state_.ever_seen());
}

}  // namespace
}  // namespace rollcall::service
