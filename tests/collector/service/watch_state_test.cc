// SPDX-License-Identifier: Apache-2.0
#include "collector/service/watch_state.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "proto/operations.h"
#include "proto/ring_format.h"

namespace rollcall::service {
namespace {

class WatchStateTest : public ::testing::Test {
 protected:
  static constexpr int64_t kSecond = 1'000'000'000;
  static constexpr int64_t kNow = 100 * kSecond;

  rpc::ProcessDigest Rank(int32_t rank) {
    rpc::ProcessDigest digest;
    digest.set_id(static_cast<uint64_t>(rank) + 1);
    digest.set_world_rank(rank);
    digest.set_world_size(4);
    digest.set_job_key(7);
    digest.set_phase(static_cast<uint32_t>(ring::Phase::kRunning));
    return digest;
  }
  rpc::ProcessDigest Inside(int32_t rank, uint64_t key, uint64_t sequence, int64_t since_ns,
                            bool quiet) {
    rpc::ProcessDigest digest = Rank(rank);
    rpc::MemberDigest* member = digest.add_members();
    member->set_key(key);
    member->set_size(4);
    member->set_entered(sequence);
    member->set_completed(sequence - 1);
    rpc::BlockedCall* call = digest.add_blocked();
    call->set_operation(static_cast<uint32_t>(Operation::kBarrier));
    call->set_key(key);
    call->set_sequence(sequence);
    call->set_blocked_ns(since_ns);
    digest.set_quiet(quiet);
    return digest;
  }
  void Give(const rpc::ProcessDigest& digest) { state_.OnDigest(1, digest, kNow); }
  rpc::WatchState Make() { return MakeWatchState(state_, pace_, names_, kNow); }

  JobState state_{{}};
  JobPace pace_;
  CommunicatorNames names_;
};

TEST_F(WatchStateTest, IsEmptyWithoutRanks) { EXPECT_EQ(Make().ByteSizeLong(), 0u); }

TEST_F(WatchStateTest, CommunicatorsHaveTheNamesOfDigestsOrOfRings) {
  rpc::ProcessDigest digest = Rank(0);
  for (const uint64_t key : {8, 9}) {
    rpc::MemberDigest* member = digest.add_members();
    member->set_key(key);
    member->set_size(4);
    member->set_name(key == 8 ? "default_pg" : "group 2");
  }
  Give(digest);
  for (rpc::MemberDigest& member : *digest.mutable_members()) member.clear_name();
  Give(digest);
  names_[9] = "group 2 (ranks 0-3)";
  const rpc::WatchState state = Make();
  ASSERT_EQ(state.communicators_size(), 2);
  EXPECT_EQ(state.communicators(0).name(), "default_pg");
  EXPECT_EQ(state.communicators(1).name(), "group 2 (ranks 0-3)");
}

TEST_F(WatchStateTest, RanksAtOnePlaceAreOneClass) {
  for (const int rank : {3, 0, 2}) Give(Inside(rank, 9, 5, rank * kSecond, true));
  Give(Rank(1));
  names_[9] = "MPI_COMM_WORLD";
  const rpc::WatchState state = Make();
  EXPECT_EQ(state.ranks(), 4u);
  EXPECT_EQ(state.expected_ranks(), 4u);
  ASSERT_EQ(state.classes_size(), 2);
  EXPECT_EQ(state.classes(0).ranks(), "1");
  EXPECT_EQ(state.classes(0).activity(), "computing");
  EXPECT_EQ(state.classes(0).operation(), "");
  const rpc::RankClass& waiting = state.classes(1);
  EXPECT_EQ(waiting.ranks(), "0,2,3");
  EXPECT_EQ(waiting.first_rank(), 0);
  EXPECT_EQ(waiting.activity(), "waiting");
  EXPECT_EQ(waiting.operation(), "MPI_Barrier");
  EXPECT_EQ(waiting.communicator(), 9u);
  EXPECT_EQ(waiting.first_sequence(), 5u);
  EXPECT_EQ(waiting.longest_ns(), 3 * kSecond);
  ASSERT_EQ(state.communicators_size(), 1);
  EXPECT_EQ(state.communicators(0).name(), "MPI_COMM_WORLD");
  EXPECT_EQ(state.communicators(0).entered_by_first(), 5u);
  EXPECT_EQ(state.communicators(0).completed_by_all(), 4u);
  EXPECT_EQ(state.communicators(0).waiting(), 3u);
}

TEST_F(WatchStateTest, RanksThatStandStillAtDifferentNumbersAreApart) {
  Give(Inside(0, 9, 5, 0, true));
  Give(Inside(1, 9, 6, 0, true));
  EXPECT_EQ(Make().classes_size(), 2);
}

TEST_F(WatchStateTest, RanksThatMoveOnCommunicatorsThatLookAlikeAreOneClass) {
  Give(Inside(0, 9, 5, 0, false));
  Give(Inside(1, 10, 8, 0, false));
  const rpc::WatchState state = Make();
  ASSERT_EQ(state.classes_size(), 1);
  EXPECT_EQ(state.classes(0).communicators(), 2u);
  EXPECT_EQ(state.classes(0).communicator(), 0u);
  EXPECT_EQ(state.classes(0).first_sequence(), 5u);
  EXPECT_EQ(state.classes(0).last_sequence(), 8u);
}

TEST_F(WatchStateTest, IsBounded) {
  for (int32_t rank = 0; rank < 2000; rank += 2) {
    Give(Inside(rank, 100 + static_cast<uint64_t>(rank), 5, 0, false));
  }
  const rpc::WatchState state = Make();
  EXPECT_EQ(state.classes_size(), 1);
  EXPECT_LE(state.classes(0).ranks().size(), 512u);
  EXPECT_EQ(static_cast<size_t>(state.communicators_size()), kWatchedCommunicators);
  EXPECT_EQ(state.communicators_left_out(), 1000 - kWatchedCommunicators);
}

TEST_F(WatchStateTest, ListsTheLatestRanksFirst) {
  rpc::DigestBatch batch;
  *batch.add_processes() = Inside(0, 9, 5, 3 * kSecond, true);
  for (const int rank : {1, 2}) {
    rpc::ProcessDigest* late = batch.add_processes();
    *late = Inside(rank, 9, 4, 0, true);
    late->clear_blocked();
  }
  for (const rpc::ProcessDigest& digest : batch.processes()) Give(digest);
  pace_.OnDigests(state_, batch, kNow);
  const rpc::WatchState state = Make();
  ASSERT_EQ(state.late_size(), 2);
  EXPECT_EQ(state.late(0).rank(), 1);
  EXPECT_EQ(state.late(0).now_ns(), 3 * kSecond);
}

}  // namespace
}  // namespace rollcall::service
