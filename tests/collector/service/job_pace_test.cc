// SPDX-License-Identifier: Apache-2.0
#include "collector/service/job_pace.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "proto/ring_format.h"

namespace rollcall::service {
namespace {

class JobPaceTest : public ::testing::Test {
 protected:
  static constexpr int64_t kMs = 1'000'000;
  static constexpr int64_t kSecond = 1'000 * kMs;
  static constexpr uint64_t kWorld = 0xabc;

  // A rank has entered this collective, and is still inside it since then, or has left it.
  rpc::ProcessDigest* Add(int32_t rank, uint64_t entered, int64_t inside_ns = -1) {
    rpc::ProcessDigest* digest = batch_.add_processes();
    digest->set_id(static_cast<uint64_t>(rank) + 1);
    digest->set_world_rank(rank);
    digest->set_world_size(3);
    digest->set_phase(static_cast<uint32_t>(ring::Phase::kRunning));
    rpc::MemberDigest* member = digest->add_members();
    member->set_key(kWorld);
    member->set_size(3);
    member->set_entered(entered);
    member->set_completed(inside_ns < 0 ? entered : entered - 1);
    if (inside_ns >= 0) {
      rpc::BlockedCall* call = digest->add_blocked();
      call->set_key(kWorld);
      call->set_sequence(entered);
      call->set_blocked_ns(inside_ns);
    }
    return digest;
  }
  // Gives the digests that were added, as one message.
  void Give(int64_t now_ns) {
    for (const rpc::ProcessDigest& digest : batch_.processes()) state_.OnDigest(1, digest, now_ns);
    pace_.OnDigests(state_, batch_, now_ns);
    batch_.Clear();
  }
  JobPace::Lateness Late(int32_t rank, int64_t now_ns) {
    return pace_.LatenessOf(state_.processes().at(static_cast<uint64_t>(rank) + 1), now_ns);
  }

  rpc::DigestBatch batch_;
  JobState state_{{}};
  JobPace pace_;
};

TEST_F(JobPaceTest, RatesAreOfTheLastSeconds) {
  for (int i = 1; i <= 30; ++i) {
    Add(0, static_cast<uint64_t>(i <= 20 ? 10 * i : 200));
    Give(i * kSecond);
    if (i == 20) {
      EXPECT_NEAR(pace_.CallsPerSecond(1, i * kSecond), 10, 0.1);
      EXPECT_NEAR(pace_.CollectivesPerSecond(kWorld, i * kSecond), 10, 0.1);
    }
  }
  EXPECT_EQ(pace_.CallsPerSecond(1, 30 * kSecond), 0);
  EXPECT_EQ(pace_.CollectivesPerSecond(kWorld, 30 * kSecond), 0);
  EXPECT_EQ(pace_.CallsPerSecond(99, kSecond), 0);
}

TEST_F(JobPaceTest, ShareIsOfSamplesAndGrowsInsideALongCall) {
  for (int i = 1; i <= 20; ++i) {
    Add(0, static_cast<uint64_t>(i), i % 4 == 0 ? 0 : -1);
    Give(i * kSecond);
  }
  EXPECT_NEAR(pace_.ShareInside(1, 20 * kSecond), 0.25, 0.11);
  EXPECT_GT(pace_.ShareInside(1, 60 * kSecond), 0.8);
}

TEST_F(JobPaceTest, CountsTheRankThatOthersWaitFor) {
  for (int i = 1; i <= 10; ++i) {
    const auto entered = static_cast<uint64_t>(i);
    Add(0, entered, 30 * kMs);
    Add(1, entered - 1);
    Add(2, entered, 20 * kMs);
    Give(i * kSecond);
  }
  EXPECT_EQ(Late(0, 10 * kSecond).late, 0u);
  EXPECT_EQ(Late(2, 10 * kSecond).late, 0u);
  const JobPace::Lateness late = Late(1, 10 * kSecond);
  EXPECT_EQ(late.samples, 10u);
  EXPECT_EQ(late.late, 9u);
  EXPECT_EQ(late.total_ns, 9 * 30 * kMs);
  EXPECT_EQ(late.most_ns, 30 * kMs);
  EXPECT_EQ(late.now_ns, 30 * kMs);
}

// How late a rank was is known exactly if it is seen inside the call, and to 0.1 s if it had stood
// still: the agent reports at once that it moves.
TEST_F(JobPaceTest, KnowsWhenALateRankArrived) {
  Add(0, 1, 50 * kMs);
  Add(1, 0);
  Add(2, 0)->set_quiet(true);
  Give(1 * kSecond);
  EXPECT_EQ(Late(2, 3 * kSecond).now_ns, 2 * kSecond + 50 * kMs);
  Add(1, 1, 200 * kMs);
  Add(2, 1);
  Give(4 * kSecond);
  EXPECT_EQ(Late(1, 4 * kSecond).most_ns, 2'850 * kMs);
  EXPECT_EQ(Late(2, 4 * kSecond).most_ns, 3'050 * kMs);
}

TEST_F(JobPaceTest, ARankThatWaitsItselfIsNotLate) {
  Add(0, 5, 2 * kSecond);
  rpc::ProcessDigest* receives = Add(1, 4);
  receives->add_blocked()->set_operation(2);
  Add(2, 4)->set_polling(true);
  Give(10 * kSecond);
  EXPECT_EQ(Late(1, 10 * kSecond).now_ns, 0);
  EXPECT_EQ(Late(2, 10 * kSecond).now_ns, 0);
}

// Messages of two nodes are transferred and queued for different times.
TEST_F(JobPaceTest, ComparesNodesOnlyBeyondTheError) {
  Add(0, 5, 10 * kMs);
  Give(10 * kSecond);
  Add(1, 4);
  Give(10 * kSecond + 20 * kMs);
  EXPECT_EQ(Late(1, 10 * kSecond + 20 * kMs).now_ns, 0);
  Add(1, 4);
  Give(10 * kSecond + 200 * kMs);
  EXPECT_EQ(Late(1, 10 * kSecond + 200 * kMs).now_ns, 210 * kMs);
}

TEST_F(JobPaceTest, ForgetsProcessesOfALostAgent) {
  Add(0, 5, 2 * kSecond);
  Add(1, 4);
  Give(10 * kSecond);
  const JobState::Process process = state_.processes().at(2);
  EXPECT_GT(pace_.LatenessOf(process, 10 * kSecond).now_ns, 0);
  state_.RemoveAgent(1);
  pace_.Prune(state_);
  EXPECT_EQ(pace_.LatenessOf(process, 10 * kSecond).samples, 0u);
}

}  // namespace
}  // namespace rollcall::service
