// SPDX-License-Identifier: Apache-2.0
#include "collector/service/active_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::service {
namespace {

using ReportDelta = ActiveFindings::ReportDelta;

constexpr int64_t kOneSecond = 1'000'000'000;
constexpr int64_t kStill = 1000 * kOneSecond;  // the time of the last movement

FindingState Hang(Certainty certainty, const std::string& key = "a") {
  FindingState state;
  state.key = key;
  state.kind = VerdictKind::kP2pDeadlock;
  state.certainty = certainty;
  state.waiting_ranks = 2;
  state.hangs = true;
  state.waiting = {{.id = 10, .rank = 0, .activity = 5}, {.id = 11, .rank = 1, .activity = 7}};
  state.still_since_ns = kStill;
  return state;
}

class ActiveFindingsTest : public ::testing::Test {
 protected:
  ReportDelta Report(const std::vector<FindingState>& states, int64_t after_ns = 0) {
    return active_.Report(states, kStill + after_ns);
  }
  // Whether it is due if a diagnosis finds it after `after_ns` without progress.
  bool DueAfter(const FindingState& state, int64_t after_ns) {
    Report({state}, after_ns);
    return active_.AnyDue(kStill + after_ns);
  }
  Withdrawal Withdraw() {
    return active_.Withdraw([this](uint64_t id) -> std::optional<Movement> {
      const auto found = now_.find(id);
      return found == now_.end() ? std::nullopt : std::optional(found->second);
    });
  }

  ActiveFindings active_{{.kill_after_ns = 20 * kOneSecond, .stall_after_ns = 60 * kOneSecond}};
  std::map<uint64_t, Movement> now_ = {{10, {.activity = 5}}, {11, {.activity = 7}}};
};

TEST_F(ActiveFindingsTest, RepeatedFindingIsNotNewButMoreCertainOneIs) {
  EXPECT_EQ(Report({Hang(Certainty::kSuspected)}), ReportDelta::kNew);
  EXPECT_EQ(Report({Hang(Certainty::kSuspected)}), ReportDelta::kNone);
  EXPECT_EQ(Report({Hang(Certainty::kLikely)}), ReportDelta::kNew);
  EXPECT_EQ(Report({Hang(Certainty::kSuspected)}), ReportDelta::kNone) << "less certain";
  EXPECT_EQ(Report({Hang(Certainty::kLikely)}), ReportDelta::kNone) << "as certain as it was once";
  FindingState more = Hang(Certainty::kLikely);
  more.waiting_ranks = 3;
  EXPECT_EQ(Report({more}), ReportDelta::kMoreRanks);
  EXPECT_EQ(Report({more}), ReportDelta::kNone);
  EXPECT_EQ(Report({more, Hang(Certainty::kLikely, "b")}), ReportDelta::kNew);
}

TEST_F(ActiveFindingsTest, ProvenFindingIsDueAtOnce) {
  EXPECT_TRUE(DueAfter(Hang(Certainty::kProven), 0));
}

TEST_F(ActiveFindingsTest, LikelyFindingIsDueAfterKillAfter) {
  EXPECT_FALSE(DueAfter(Hang(Certainty::kLikely), 19 * kOneSecond));
  EXPECT_TRUE(DueAfter(Hang(Certainty::kLikely), 20 * kOneSecond));
}

TEST_F(ActiveFindingsTest, ComputingDelaysLikelyFindingUntilStallAfter) {
  FindingState computes = Hang(Certainty::kLikely);
  computes.computes = true;
  EXPECT_FALSE(DueAfter(computes, 59 * kOneSecond));
  EXPECT_TRUE(DueAfter(computes, 60 * kOneSecond));
}

TEST_F(ActiveFindingsTest, SuspectedFindingIsDueAfterStallAfter) {
  EXPECT_FALSE(DueAfter(Hang(Certainty::kSuspected), 59 * kOneSecond));
  EXPECT_TRUE(DueAfter(Hang(Certainty::kSuspected), 60 * kOneSecond));
}

TEST_F(ActiveFindingsTest, InconclusiveFindingIsNeverDue) {
  EXPECT_FALSE(DueAfter(Hang(Certainty::kInconclusive), 1000 * kOneSecond));
}

TEST_F(ActiveFindingsTest, FindingThatDoesNotHangIsNeverDue) {
  FindingState mismatch = Hang(Certainty::kProven);
  mismatch.hangs = false;
  EXPECT_FALSE(DueAfter(mismatch, 1000 * kOneSecond));
}

FindingState Idle() {
  FindingState state = Hang(Certainty::kSuspected, "idle");
  state.hangs = false;
  state.idle = true;
  return state;
}

TEST_F(ActiveFindingsTest, ThatRanksAreIdleIsNewOnceAndEndsNothing) {
  EXPECT_FALSE(DueAfter(Idle(), 1000 * kOneSecond));
  EXPECT_EQ(Report({Idle()}), ReportDelta::kNone);
  now_[10].activity = 6;
  const Withdrawal withdrawal = Withdraw();
  EXPECT_EQ(withdrawal.keys, std::vector<std::string>{"idle"});
  EXPECT_TRUE(withdrawal.ranks.empty()) << "nobody was told that the job hangs";
  EXPECT_TRUE(active_.empty());
  EXPECT_EQ(Report({Idle()}), ReportDelta::kMoreRanks) << "only the files are written";
  EXPECT_EQ(Report({Idle()}), ReportDelta::kNone);
}

TEST_F(ActiveFindingsTest, IdleRankIsExaminedAgainAtItsLimit) {
  ActiveFindings active({.kill_after_ns = 20 * kOneSecond,
                         .stall_after_ns = 60 * kOneSecond,
                         .idle_after_ns = 100 * kOneSecond});
  active.Report({Idle()}, kStill + 61 * kOneSecond);
  EXPECT_EQ((active.NextDiagnosisNs() - kStill) / kOneSecond, 100);
  ActiveFindings without({.kill_after_ns = 20 * kOneSecond, .stall_after_ns = 60 * kOneSecond});
  without.Report({Idle()}, kStill + 61 * kOneSecond);
  EXPECT_EQ(without.NextDiagnosisNs(), INT64_MAX);
}

TEST_F(ActiveFindingsTest, LikelyFindingIsNeverDueLaterThanSuspectedOne) {
  ActiveFindings active({.kill_after_ns = 30 * kOneSecond, .stall_after_ns = 2 * kOneSecond});
  active.Report({Hang(Certainty::kLikely)}, kStill + 2 * kOneSecond);
  EXPECT_TRUE(active.AnyDue(kStill + 2 * kOneSecond));
}

TEST_F(ActiveFindingsTest, ZeroKillAfterMeansDueAtOnce) {
  ActiveFindings active({.kill_after_ns = 0, .stall_after_ns = 60 * kOneSecond});
  active.Report({Hang(Certainty::kLikely)}, kStill);
  EXPECT_TRUE(active.AnyDue(kStill));
}

TEST_F(ActiveFindingsTest, ProgressOfARankRestartsTheTime) {
  FindingState moved = Hang(Certainty::kLikely);
  moved.still_since_ns = kStill + 15 * kOneSecond;
  EXPECT_FALSE(DueAfter(moved, 34 * kOneSecond));
  EXPECT_TRUE(DueAfter(moved, 35 * kOneSecond));
}

// It would be due, but the newest diagnosis does not have it.
TEST_F(ActiveFindingsTest, FindingMissingFromTheNewestDiagnosisIsNotDue) {
  Report({Hang(Certainty::kLikely)}, kOneSecond);
  Report({Hang(Certainty::kSuspected, "b")}, 25 * kOneSecond);
  EXPECT_FALSE(active_.AnyDue(kStill + 25 * kOneSecond));
}

TEST_F(ActiveFindingsTest, DiagnosesAtEachThreshold) {
  EXPECT_EQ(active_.NextDiagnosisNs(), INT64_MAX) << "nothing stands";
  Report({Hang(Certainty::kLikely)});
  std::vector<int64_t> looks;
  for (int64_t next = active_.NextDiagnosisNs(); next != INT64_MAX;
       next = active_.NextDiagnosisNs()) {
    ASSERT_LT(looks.size(), 10u);
    looks.push_back((next - kStill) / kOneSecond);
    EXPECT_GE(next - kStill, looks.back() * kOneSecond);
    active_.Report({Hang(Certainty::kLikely)}, next);
  }
  EXPECT_THAT(looks, ::testing::ElementsAre(10, 20, 30, 60));
}

TEST_F(ActiveFindingsTest, SuspectedFindingIsDiagnosedMoreOften) {
  Report({Hang(Certainty::kSuspected)}, 12 * kOneSecond);
  EXPECT_LE(active_.NextDiagnosisNs(), kStill + 17 * kOneSecond) << "it may become likely";
}

TEST_F(ActiveFindingsTest, FindingWithComputingRankIsDiagnosedMoreOften) {
  FindingState computes = Hang(Certainty::kLikely);
  computes.computes = true;
  Report({computes}, 31 * kOneSecond);
  EXPECT_LE(active_.NextDiagnosisNs(), kStill + 40 * kOneSecond);
  computes.computes = false;
  Report({computes}, 40 * kOneSecond);
  EXPECT_TRUE(active_.AnyDue(kStill + 40 * kOneSecond)) << "it computes no more";
}

TEST_F(ActiveFindingsTest, FindingThatDoesNotHangNeedsNoDiagnosis) {
  FindingState mismatch = Hang(Certainty::kProven);
  mismatch.hangs = false;
  Report({mismatch});
  EXPECT_EQ(active_.NextDiagnosisNs(), INT64_MAX);
}

TEST_F(ActiveFindingsTest, WithdrawsNothingIfNoRankMoves) {
  Report({Hang(Certainty::kProven)});
  EXPECT_TRUE(Withdraw().keys.empty());
  now_.clear();
  EXPECT_TRUE(Withdraw().keys.empty()) << "nothing is known of them any more";
}

TEST_F(ActiveFindingsTest, WithdrawsFindingOfMovedRanksAndReportsItAgain) {
  Report({Hang(Certainty::kLikely)});
  now_[10].activity = 6;
  now_[11].activity = 9;
  const Withdrawal withdrawal = Withdraw();
  EXPECT_THAT(withdrawal.keys, ::testing::ElementsAre("a"));
  EXPECT_EQ(withdrawal.Text(), "ranks 0,1 moved again; the verdict above is withdrawn");
  EXPECT_TRUE(active_.empty());
  EXPECT_TRUE(Withdraw().keys.empty()) << "once";
  EXPECT_EQ(Report({Hang(Certainty::kLikely)}), ReportDelta::kNew);
}

TEST_F(ActiveFindingsTest, WithdrawsOnlyFindingsOfMovedRanks) {
  FindingState other = Hang(Certainty::kLikely, "b");
  other.waiting = {{.id = 12, .rank = 2, .activity = 1}};
  Report({Hang(Certainty::kLikely), other});
  now_[10].activity = 6;
  const Withdrawal withdrawal = Withdraw();
  EXPECT_THAT(withdrawal.keys, ::testing::ElementsAre("a"));
  EXPECT_FALSE(withdrawal.all);
  EXPECT_EQ(withdrawal.Text(),
            "rank 0 moved again; withdrawn from the verdicts above: p2p-deadlock");
  EXPECT_FALSE(active_.empty());
}

// A mismatch that stops no rank remains a mismatch, whatever the ranks do.
TEST_F(ActiveFindingsTest, DoesNotWithdrawFindingThatDoesNotHang) {
  FindingState mismatch = Hang(Certainty::kProven, "m");
  mismatch.hangs = false;
  mismatch.waiting.clear();
  Report({Hang(Certainty::kLikely), mismatch});
  now_[10].activity = 6;
  const Withdrawal withdrawal = Withdraw();
  EXPECT_THAT(withdrawal.keys, ::testing::ElementsAre("a"));
  EXPECT_TRUE(withdrawal.all);
  EXPECT_FALSE(active_.empty());
}

TEST_F(ActiveFindingsTest, GivingUpIsNotMovementButEndingWellIs) {
  Report({Hang(Certainty::kLikely)});
  now_[10] = {.activity = 6, .gave_up = true};
  EXPECT_TRUE(Withdraw().keys.empty());
  now_[11].ended_well = true;
  EXPECT_THAT(Withdraw().ranks, ::testing::ElementsAre(1));
}

// Sightings of a job of three ranks: rank 0 waits for rank 1, which waits for rank 2.
class SightingsTest : public ::testing::Test {
 protected:
  SightingsTest() {
    trace_.worlds.push_back({.job_key = 7, .size = 3, .processes = {0, 1, 2}});
    for (int32_t rank = 0; rank < 3; ++rank) {
      Process& process = trace_.processes.emplace_back();
      process.world = 0;
      process.rank = rank;
      process.end.how = ProcessEnd::How::kAlive;
      observed_.push_back({.id = static_cast<uint64_t>(rank) + 10,
                           .activity = 5,
                           .still_since_ns = kStill + rank * kOneSecond});
    }
    for (const uint32_t waiting : {0, 1}) trace_.processes[waiting].open_calls.emplace_back();
    Finding& finding = report_.findings.emplace_back();
    finding.kind = VerdictKind::kP2pDeadlock;
    finding.certainty = Certainty::kLikely;
    finding.hangs = true;
    finding.world = 0;
    finding.waiting_set = {0};
    finding.culprits = {1};
  }
  FindingState Only() { return FindingStates(trace_, report_, observed_).at(0); }

  Trace trace_;
  Report report_;
  std::vector<Observed> observed_;
};

TEST_F(SightingsTest, UsesProgressOfTheRanksOfTheFinding) {
  EXPECT_EQ(Only().still_since_ns, kStill + kOneSecond);
  report_.findings[0].awaited = {2};
  EXPECT_EQ(Only().still_since_ns, kStill + 2 * kOneSecond);
}

TEST_F(SightingsTest, WatchesProcessesOfTheWaitingSet) {
  ASSERT_EQ(Only().waiting.size(), 1u);
  report_.findings[0].waiting_set = {0, 1};
  ASSERT_EQ(Only().waiting.size(), 2u);
  EXPECT_EQ(Only().waiting[1].id, 11u);
  EXPECT_EQ(Only().waiting[1].rank, 1);
}

TEST_F(SightingsTest, RankThatUsesAProcessorIsComputing) {
  EXPECT_FALSE(Only().computes);
  observed_[2].cpu_share = 1;
  EXPECT_FALSE(Only().computes) << "it is not of the finding";
  report_.findings[0].awaited = {2};
  EXPECT_TRUE(Only().computes);
  observed_[2].cpu_share = 0.01;
  EXPECT_FALSE(Only().computes) << "it sleeps";
}

TEST_F(SightingsTest, CulpritThatComputesDelaysTheFinding) {
  observed_[1].cpu_share = 0.02;
  EXPECT_TRUE(Only().computes);
  trace_.processes[1].end.how = ProcessEnd::How::kExited;
  EXPECT_FALSE(Only().computes) << "it has ended";
}

TEST_F(SightingsTest, KnowsWhetherTheTimeOfEachCulpritIsKnown) {
  EXPECT_FALSE(Only().cpu_known);
  observed_[1].cpu_share = 0;
  EXPECT_TRUE(Only().cpu_known) << "that of the others does not matter";
}

TEST_F(SightingsTest, FindingThatDoesNotHangWatchesNoProcess) {
  observed_[1].cpu_share = 1;
  report_.findings[0].hangs = false;
  EXPECT_TRUE(Only().waiting.empty());
  EXPECT_FALSE(Only().computes);
  EXPECT_EQ(Only().still_since_ns, 0);
}

TEST_F(SightingsTest, CopiesKindCertaintyAndRanksOfTheFinding) {
  report_.findings[0].waiting = {0, 2};
  const FindingState only = Only();
  EXPECT_EQ(only.kind, VerdictKind::kP2pDeadlock);
  EXPECT_EQ(only.certainty, Certainty::kLikely);
  EXPECT_EQ(only.waiting_ranks, 2u);
  EXPECT_EQ(only.waiting.at(0).activity, 5u);
  EXPECT_TRUE(only.hangs);
}

TEST_F(SightingsTest, LeavesOutUnobservedProcess) {
  observed_[0].id = 0;
  EXPECT_TRUE(Only().waiting.empty());
  EXPECT_EQ(Only().still_since_ns, kStill + kOneSecond) << "the culprit's";
  observed_.clear();
  EXPECT_EQ(Only().still_since_ns, 0);
}

// Process 0 has two devices, which are processes 0 and 1 of the trace.
TEST_F(SightingsTest, DeviceIsObservedThroughItsHostProcess) {
  trace_.processes[1].host_process = 0;
  report_.findings[0].waiting_set = {1};
  report_.findings[0].culprits = {};
  observed_.resize(1);
  ASSERT_EQ(Only().waiting.size(), 1u);
  EXPECT_EQ(Only().waiting[0].id, 10u);
  EXPECT_EQ(Only().waiting[0].rank, 1);
}

TEST_F(SightingsTest, KeyDoesNotDependOnPositionsInTheTrace) {
  trace_.communicators.resize(2);
  trace_.communicators[0].key = 3;
  trace_.communicators[1].key = 4;
  Finding& finding = report_.findings[0];
  finding.communicator = 0;
  const std::string key = FindingKey(trace_, finding);
  std::swap(trace_.communicators[0], trace_.communicators[1]);
  EXPECT_NE(FindingKey(trace_, finding), key);
  finding.communicator = 1;
  EXPECT_EQ(FindingKey(trace_, finding), key);
}

}  // namespace
}  // namespace rollcall::service
