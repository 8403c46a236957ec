// SPDX-License-Identifier: Apache-2.0
// Jobs in which ranks wait for messages, or for windows, as `rollcall attach` sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/collector/attach/observed_job.h"

namespace rollcall::attach {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ObservedJob;
using ::testing::SizeIs;

constexpr char kStepBarrier[] = "poll < MPI_Barrier < step a.c:10 < main a.c:40";

// Rank 2 waits for both: for rank 0, which waits for it, and for rank 1.
TEST(AttachMessages, RingThroughOneOfSeveralMessagesIsADeadlock) {
  ObservedJob job(4);
  job.Rank(0, "MPI_Recv < main a.c:5").Awaits(2);
  job.Rank(1, kStepBarrier);
  job.Rank(2, "MPI_Waitall < main a.c:7").Awaits(1).AwaitsAlso(0);
  job.Rank(3, kStepBarrier);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kP2pDeadlock);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(0, 2));
}

// The messages of a collective are its own: ranks in it are in no ring.
TEST(AttachMessages, RanksInACollectiveAreInNoRingOfMessages) {
  ObservedJob job(4);
  job.Rank(0, "MPI_Recv < main a.c:10").Awaits(3);
  job.Rank(1, kStepBarrier).Awaits(0);
  job.Rank(2, kStepBarrier).Awaits(3);
  job.Rank(3, kStepBarrier).Awaits(1);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kP2pDeadlock);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(0));
}

TEST(AttachMessages, RingOfMessagesIsADeadlockThoughAnotherRankFinalizes) {
  ObservedJob job(3);
  job.Rank(0, "MPI_Recv < main a.c:10").Awaits(1);
  job.Rank(1, "MPI_Recv < main a.c:10").Awaits(0);
  job.Rank(2, "MPI_Finalize < main a.c:50");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kP2pDeadlock);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(0, 1));
}

TEST(AttachMessages, RankInSendIsTheCulpritIfTheOthersFinalize) {
  ObservedJob job(3);
  job.Rank(0, "MPI_Ssend < main a.c:5");
  job.Rank(1, "MPI_Finalize < main a.c:50");
  job.Rank(2, "MPI_Finalize < main a.c:50");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kP2pUnmatched);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(0));
}

TEST(AttachMessages, RanksThatOnlyReceiveAreADeadlock) {
  ObservedJob job(2);
  job.Rank(0, "MPI_Recv < main a.c:5");
  job.Rank(1, "MPI_Wait < main a.c:9");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kP2pDeadlock);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
}

// Another rank may have left the loop, or skipped a round.
TEST(AttachMessages, NobodyIsNamedIfTheMessagesAreThoseOfALoop) {
  for (const bool loop : {false, true}) {
    ObservedJob job(4);
    if (loop) job.Loop("a.c", 10, 20, "");
    for (const int32_t rank : {0, 1}) job.Rank(rank, "MPI_Sendrecv < step a.c:12 < main b.c:5");
    for (const int32_t rank : {2, 3}) job.Rank(rank, "MPI_Allreduce < step a.c:30 < main b.c:5");
    const Report report = job.Judge();
    ASSERT_EQ(report.findings.size(), 1u);
    const std::vector<int32_t> named = loop ? std::vector<int32_t>() : std::vector<int32_t>{0, 1};
    EXPECT_EQ(report.findings[0].culprits, named);
    EXPECT_EQ(report.findings[0].kind,
              loop ? VerdictKind::kP2pUnmatched : VerdictKind::kP2pDeadlock);
  }
}

// Ranks 0 and 2 wait for rank 1, and rank 3 waits for rank 2: rank 1 has left the loop.
TEST(AttachMessages, RankWhoseMessagesTheOthersWaitForLeftTheLoop) {
  ObservedJob job(4);
  job.Loop("a.c", 10, 20, "");
  for (const int32_t rank : {0, 2}) {
    job.Rank(rank, "MPI_Sendrecv < run a.c:12 < main b.c:5").Awaits(1);
  }
  job.Rank(1, "MPI_Gather < run a.c:30 < main b.c:5");
  job.Rank(3, "MPI_Sendrecv < run a.c:14 < main b.c:5").Awaits(2);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.kind, VerdictKind::kUnevenIterations);
  EXPECT_EQ(finding.certainty, Certainty::kSuspected);
  EXPECT_THAT(finding.culprits, ElementsAre(1));
  EXPECT_THAT(finding.why, HasSubstr("the others wait for rank 1 in calls for messages"));
}

// It went past the function of the exchange, or it did not send: no loop is left.
TEST(AttachMessages, RankThatWentPastAMessageIsNamed) {
  for (const bool left_function : {false, true}) {
    ObservedJob job(4);
    job.Rank(2, left_function ? "MPI_Recv < halo a.c:12 < main a.c:40" : "MPI_Recv < main a.c:40")
        .Awaits(3);
    for (const int32_t rank : {0, 1}) job.Rank(rank, "MPI_Allreduce < main a.c:44");
    job.Rank(3, "MPI_Allgather < main a.c:50");
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(1));
    EXPECT_EQ(report.findings[0].kind,
              left_function ? VerdictKind::kRankConditionalCollective : VerdictKind::kP2pUnmatched);
    EXPECT_THAT(report.findings[0].culprits, ElementsAre(3));
  }
}

// Ranks 1 and 3 have received from all others: ranks 0 and 2 are at one place, and rank 0 made the
// round. A round too many of ranks 1 and 3 would wait for rank 0, too.
TEST(AttachMessages, OneRankForWhichMoreWaitMadeARoundLess) {
  for (const bool too_many : {false, true}) {
    ObservedJob job(4);
    job.Loop("a.c", 10, 20, "");
    for (const int32_t rank : {0, 2}) job.Rank(rank, "MPI_Allreduce < run a.c:30 < main b.c:5");
    for (const int32_t rank : {1, 3}) {
      auto text = job.Rank(rank, "MPI_Waitall < run a.c:12 < main b.c:5").Awaits(too_many ? 0 : 2);
      if (too_many) text.AwaitsAlso(2);
    }
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(1));
    const auto named = too_many ? std::vector<int32_t>() : std::vector<int32_t>{2};
    EXPECT_EQ(report.findings[0].culprits, named);
  }
}

// Either those have left the loop, or who waits made a round too many.
TEST(AttachMessages, AwaitedRanksAreNotNamedIfTheyAreMost) {
  for (const int32_t others : {2, 3}) {
    ObservedJob job(others + 2);
    job.Loop("a.c", 10, 20, "");
    for (const int32_t rank : {0, 1}) {
      job.Rank(rank, "MPI_Recv < run a.c:12 < main b.c:5").Awaits(2);
    }
    for (int32_t rank = 2; rank < others + 2; ++rank) {
      job.Rank(rank, "MPI_Barrier < run a.c:30 < main b.c:5");
    }
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(1));
    EXPECT_THAT(report.findings[0].culprits, IsEmpty());
  }
}

// Rank 1 has left the reduction in which rank 2 waits, so half of the ranks have left the loop.
TEST(AttachMessages, AwaitedRankIsNotNamedIfMostMayHaveBeenAtItsPlace) {
  for (const bool may_leave : {false, true}) {
    ObservedJob job(6);
    job.Loop("a.c", 10, 20, "");
    for (const int32_t rank : {0, 2}) {
      job.Rank(rank, may_leave ? "MPI_Reduce < run a.c:30 < main b.c:5"
                               : "MPI_Allreduce < run a.c:30 < main b.c:5");
    }
    job.Rank(1, "MPI_Finalize < main b.c:6");
    job.Rank(3, "MPI_Sendrecv < run a.c:12 < main b.c:5").Awaits(4);
    job.Rank(4, "MPI_Sendrecv < run a.c:12 < main b.c:5").Awaits(2);
    job.Rank(5, "MPI_Sendrecv < run a.c:12 < main b.c:5").Awaits(3);
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(1));
    EXPECT_EQ(report.findings[0].kind,
              may_leave ? VerdictKind::kP2pUnmatched : VerdictKind::kUnevenIterations);
    EXPECT_THAT(report.findings[0].culprits,
                ElementsAreArray(may_leave ? std::vector<int32_t>() : std::vector<int32_t>{2}));
  }
}

// It may have left the reduction after the messages of all ranks, and a receive of another may be
// wrong.
TEST(AttachMessages, RankThatFinalizesIsNotNamedIfItIsUnknownWhoseMessagesAreAwaited) {
  for (const bool reduces : {true, false}) {
    ObservedJob job(5);
    job.Rank(0, reduces ? "MPI_Reduce < main a.c:45" : "MPI_Barrier < main a.c:45");
    job.Rank(1, "MPI_Finalize < main a.c:50");
    for (int rank = 2; rank < 5; ++rank) job.Rank(rank, "MPI_Sendrecv < main a.c:40");
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(1));
    const auto named = reduces ? std::vector<int32_t>() : std::vector<int32_t>{1};
    EXPECT_EQ(report.findings[0].culprits, named);
    EXPECT_EQ(report.findings[0].kind,
              reduces ? VerdictKind::kP2pUnmatched : VerdictKind::kFinalizedEarly);
  }
}

TEST(AttachMessages, RankThatWaitsForAWindowLockIsNotACulprit) {
  ObservedJob job(3);
  job.Rank(0, kStepBarrier);
  job.Rank(1, "MPI_Win_lock < step a.c:12 < main a.c:40");
  job.Rank(2, kStepBarrier);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kP2pUnmatched);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
  EXPECT_THAT(report.findings[0].waiting, ElementsAre(0, 1, 2));
  EXPECT_THAT(report.findings[0].notes, Contains(HasSubstr("which rank holds the lock")));
}

TEST(AttachMessages, NoCulpritIfAllRanksWaitForAWindow) {
  ObservedJob job(2);
  job.Rank(0, "MPI_Win_lock < step a.c:12 < main a.c:40");
  job.Rank(1, "MPI_Win_wait < serve a.c:22 < main a.c:42");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kP2pUnmatched);
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
  EXPECT_THAT(report.findings[0].waiting, ElementsAre(0, 1));
  EXPECT_THAT(report.findings[0].sites, Each(::testing::Field(&Site::culprit, false)));
}

TEST(AttachMessages, NoCulpritIfARankWaitsForAWindowWhileOthersFinalize) {
  ObservedJob job(2);
  job.Rank(0, "MPI_Win_lock < step a.c:12 < main a.c:40");
  job.Rank(1, "MPI_Finalize < main a.c:50");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kP2pUnmatched);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
  EXPECT_THAT(report.findings[0].waiting, ElementsAre(0));
  EXPECT_THAT(report.findings[0].sites, Each(::testing::Field(&Site::culprit, false)));
}

TEST(AttachMessages, RankThatWaitsForAnotherRankThanBeforeHasMoved) {
  ObservedJob job(2);
  job.Rank(0, "MPI_Recv < main a.c:10").Awaits(1).AwaitedBefore(0);
  job.Rank(1, "MPI_Recv < main a.c:10").Awaits(0);
  EXPECT_THAT(job.Judge().findings, IsEmpty());
}

TEST(AttachMessages, OnlyRanksInAWaitCycleAreCulprits) {
  ObservedJob job(4);
  job.Rank(0, "MPI_Recv < main a.c:10").Awaits(1);
  job.Rank(1, "MPI_Recv < main a.c:10").Awaits(2);
  job.Rank(2, "MPI_Send < main a.c:12").Awaits(1);
  job.Rank(3, "MPI_Recv < main a.c:10");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kP2pDeadlock);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kLikely);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(1, 2));
  EXPECT_THAT(report.findings[0].waiting, ElementsAre(0, 3));
  EXPECT_THAT(report.findings[0].notes,
              Contains(HasSubstr("rank 0 waits for rank 1, rank 1 for rank 2")));
}

// Ranks 0 and 1 wait for rank 2 alone, and have received what the others sent. Without that, rank 2
// may have sent what they do not receive; what a rank sends to itself says nothing.
TEST(AttachMessages, RankThatLeftOthersOutIsNamedIfTheyWereAnsweredByAnother) {
  for (const int32_t answer : {0, 1, -1}) {
    ObservedJob job(3);
    job.Loop("a.c", 38, 42, "");
    for (const int32_t rank : {0, 1}) {
      auto text = job.Rank(rank, "MPI_Waitall < halo a.c:12 < main a.c:40").Awaits(2);
      if (answer >= 0) text.AnsweredBy(answer == 0 ? rank : 1 - rank);
    }
    job.Rank(2, "MPI_Wait < unlock a.c:30 < halo a.c:14 < main a.c:40").OfCollective();
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(1));
    EXPECT_EQ(report.findings[0].kind, VerdictKind::kP2pUnmatched);
    EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
    const auto named = answer == 1 ? std::vector<int32_t>{2} : std::vector<int32_t>();
    EXPECT_EQ(report.findings[0].culprits, named);
  }
}

// One neighbour alone may itself receive the wrong message.
TEST(AttachMessages, AnAnsweredRankThatWaitsAloneNamesNobody) {
  ObservedJob job(3);
  job.Loop("a.c", 38, 42, "");
  job.Rank(0, "MPI_Waitall < halo a.c:12 < main a.c:40").Awaits(1).AnsweredBy(2);
  job.Rank(1, "MPI_Wait < halo a.c:14 < main a.c:40").OfCollective();
  job.Rank(2, "MPI_Waitall < halo a.c:12 < main a.c:40").Awaits(0);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
}

// The other job may still send.
TEST(AttachMessages, RankThatWaitsForAnotherJobMayGoOn) {
  for (const bool outside : {true, false}) {
    ObservedJob job(2);
    auto text = job.Rank(0, "MPI_Recv < gather a.c:5 < main a.c:20");
    if (outside) text.AwaitsAnotherJob();
    job.Rank(1, "MPI_Barrier < main a.c:22");
    const Report report = job.Judge();
    ASSERT_EQ(report.findings.empty(), outside);
    if (outside) {
      EXPECT_THAT(report.notes, Contains(HasSubstr("it waits for a process of another job")));
    }
  }
}

}  // namespace
}  // namespace rollcall::attach
