// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/collector/attach/observed_job.h"

namespace rollcall::attach {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::ObservedJob;
using ::testing::SizeIs;

constexpr char kBarrier[] = "poll < MPI_Barrier < step a.c:10 < main a.c:40";
constexpr char kReduce[] = "poll < PMPI_Allreduce < step a.c:20 < main a.c:40";

TEST(AttachJudge, RanksInTwoCallsOfOneFunctionAreARankConditionalCollective) {
  ObservedJob job(4);
  job.Rank(0, kReduce);
  for (int rank = 1; rank < 4; ++rank) job.Rank(rank, kBarrier);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.kind, VerdictKind::kRankConditionalCollective);
  EXPECT_EQ(finding.certainty, Certainty::kLikely);
  EXPECT_EQ(finding.kind_certainty, Certainty::kSuspected);
  EXPECT_THAT(finding.culprits, ElementsAre(0));
  EXPECT_THAT(finding.waiting, ElementsAre(1, 2, 3));
  EXPECT_EQ(finding.operation, Operation::kBarrier);
  EXPECT_EQ(report.status, Report::Status::kHung);
}

TEST(AttachJudge, TraceHasTheOpenCallsOfTheRanks) {
  ObservedJob job(2);
  job.Rank(0, kBarrier);
  job.Rank(1, "read < load a.c:9 < main a.c:38").Asleep();
  const Trace trace = job.Trace();
  ASSERT_THAT(trace.processes[0].open_calls, SizeIs(1));
  const Event& event = trace.processes[0].open_calls[0].event;
  EXPECT_EQ(trace.arguments[event.arguments].operation, Operation::kBarrier);
  EXPECT_THAT(trace.processes[1].open_calls, IsEmpty());
}

TEST(AttachJudge, IncompleteStackLowersTheCertainty) {
  ObservedJob job(3);
  job.Rank(0, kReduce).Cut();
  job.Rank(1, kBarrier);
  job.Rank(2, kBarrier);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kCollectiveMismatch);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
}

TEST(AttachJudge, NotesThatBothCallsHaveTheSameNumberOfRanks) {
  ObservedJob job(2);
  job.Rank(0, kReduce);
  job.Rank(1, kBarrier);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0].notes, Contains(HasSubstr("the same number of ranks")));
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
}

TEST(AttachJudge, NoCulpritIfRanksMayHaveLeftTheCollectiveEarly) {
  ObservedJob job(4);
  job.Rank(0, "MPI_Reduce < step a.c:10 < main a.c:40");
  for (int rank = 1; rank < 4; ++rank) job.Rank(rank, kReduce);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
}

TEST(AttachJudge, NoFindingIfAWaitingRankMoved) {
  ObservedJob job(3);
  job.Rank(0, kReduce);
  job.Rank(1, kBarrier);
  job.Rank(2, kBarrier).Changed();
  const Report report = job.Judge();
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.status, Report::Status::kRunning);
}

TEST(AttachJudge, ComputingRankGetsANoteInsteadOfAFinding) {
  ObservedJob job(3);
  job.Rank(0, "kernel a.c:7 < main a.c:30").Before("kernel a.c:8 < main a.c:30").Changed();
  job.Rank(1, kBarrier);
  job.Rank(2, kBarrier);
  const Report report = job.Judge();
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.notes, Contains(HasSubstr("ranks 1,2 wait in MPI_Barrier; rank 0 moves")));
  EXPECT_THAT(report.notes, Contains(HasSubstr("kernel (a.c:7)")));
}

TEST(AttachJudge, DetectsLoopThatReturnsToAnyEarlierState) {
  for (const bool comes_back : {true, false}) {
    ObservedJob job(2);
    job.Rank(0, "kernel a.c:7 < main a.c:30")
        .Before("kernel a.c:8 < main a.c:30")
        .States({1, 2, 3}, {4, comes_back ? 2U : 5U});
    job.Rank(1, kBarrier);
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(comes_back ? 1 : 0));
    if (comes_back) {
      EXPECT_THAT(report.findings[0].culprits, ElementsAre(0));
    }
  }
}

TEST(AttachJudge, UnknownStateDoesNotCountAsUnchanged) {
  ObservedJob job(2);
  job.Rank(0, "kernel a.c:7 < main a.c:30").States({0}, {0});
  job.Rank(1, kBarrier);
  EXPECT_THAT(job.Judge().findings, IsEmpty());
}

TEST(AttachJudge, NoFindingIfARankSleepsForALimitedTime) {
  ObservedJob job(2);
  job.Rank(0, "clock_nanosleep < nanosleep < pause a.c:7 < main a.c:30").Asleep(230);
  job.Rank(1, kBarrier);
  EXPECT_THAT(job.Judge().findings, IsEmpty());
}

TEST(AttachJudge, RankBlockedInReadIsSuspected) {
  ObservedJob job(3);
  job.Rank(0, "read < load a.c:9 < main a.c:38").Asleep();
  job.Rank(1, kBarrier);
  job.Rank(2, kBarrier);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankStalled);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(0));
  ASSERT_THAT(report.findings[0].sites, SizeIs(2));
  EXPECT_EQ(report.findings[0].sites[1].frame.line, 9);
}

TEST(AttachJudge, RankThatSpinsWithoutAnyChangeIsSuspected) {
  ObservedJob job(2);
  job.Rank(0, "spin a.c:7 < main a.c:30");
  job.Rank(1, kBarrier);
  ASSERT_THAT(job.Judge().findings, SizeIs(1));
  ObservedJob other(2);
  other.Rank(0, "spin a.c:7 < main a.c:30").Changed();
  other.Rank(1, kBarrier);
  EXPECT_THAT(other.Judge().findings, IsEmpty());
}

TEST(AttachJudge, StoppedRankIsStalledWithCertaintyLikely) {
  ObservedJob job(2);
  job.Rank(0, kBarrier).Stopped();
  job.Rank(1, kBarrier);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankStalled);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kLikely);
  EXPECT_THAT(report.findings[0].why, HasSubstr("stopped"));
}

TEST(AttachJudge, TitleNamesTheCallInWhichARankIsStopped) {
  ObservedJob job(3);
  job.Rank(0, kBarrier).Stopped();
  job.Rank(1, kBarrier);
  job.Rank(2, kBarrier);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].title,
            "rank 0 is stopped in MPI_Barrier, and ranks 1,2 wait in MPI_Barrier");
  EXPECT_EQ(report.findings[0].fix, "continue rank 0, and attach again");
}

// A debugger may hold the rank because the job hung.
TEST(AttachJudge, StoppedRankIsOnlySuspectedIfTheOthersDiverge) {
  ObservedJob job(3);
  job.Rank(0, kBarrier);
  job.Rank(1, kReduce).Stopped();
  job.Rank(2, kReduce);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankStalled);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
}

TEST(AttachJudge, NotesThatTheWholeJobIsStopped) {
  ObservedJob job(2);
  job.Rank(0, kBarrier).Stopped();
  job.Rank(1, kBarrier).Stopped();
  const Report report = job.Judge();
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.notes, Contains("ranks 0,1 are stopped, by a signal or a debugger"));
}

TEST(AttachJudge, NotesRankInUninterruptibleWait) {
  ObservedJob job(3);
  job.Rank(0, kBarrier);
  job.Rank(1, kReduce).InKernel();
  job.Rank(2, kReduce);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankConditionalCollective);
  EXPECT_THAT(report.findings[0].notes,
              Contains(HasSubstr("rank 1 is in an uninterruptible wait")));
}

TEST(AttachJudge, RankThatEndedIsTheCulprit) {
  ObservedJob job(2);
  job.Rank(0, kBarrier).Gone();
  job.Rank(1, kBarrier);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankDied);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(0));
}

TEST(AttachJudge, NoFindingIfARankEndsBetweenTheSamples) {
  ObservedJob job(2);
  job.Rank(0, kBarrier).EndedBetween();
  job.Rank(1, kBarrier);
  EXPECT_THAT(job.Judge().findings, IsEmpty());
}

TEST(AttachJudge, NoFindingIfAnotherThreadOfARankMayAct) {
  for (const OtherThreads others :
       {OtherThreads::kOutside, OtherThreads::kCallers, OtherThreads::kUnseen}) {
    ObservedJob job(2);
    job.Rank(0, "MPI_Recv < main a.c:5").HasOtherThreads(others);
    job.Rank(1, "MPI_Recv < main a.c:5");
    EXPECT_THAT(job.Judge().findings, IsEmpty());
  }
}

TEST(AttachJudge, NoFindingIfRanksInInitWaitForRanksNotYetStarted) {
  ObservedJob job(3);
  job.Rank(0, "MPI_Init < main a.c:5");
  job.Rank(1, "MPI_Init < main a.c:5");
  EXPECT_THAT(job.Judge().findings, IsEmpty());
}

TEST(AttachJudge, NoFindingIfARankIsInFinalizeAndTheOthersAreGone) {
  ObservedJob job(2);
  job.Rank(0, "MPI_Finalize < main a.c:5");
  EXPECT_THAT(job.Judge().findings, IsEmpty());
}

TEST(AttachJudge, NoFindingIfAPythonVariableChanged) {
  ObservedJob job(2);
  job.Rank(0, "MPI_Barrier < step train.py:5 < main a.c:5");
  job.Rank(1, "MPI_Allreduce < step train.py:7 < main a.c:5");
  ASSERT_THAT(job.Judge().findings, SizeIs(1));
  ObservedJob moved(2);
  moved.Rank(0, "MPI_Barrier < step train.py:5 < main a.c:5").PythonMoved();
  moved.Rank(1, "MPI_Allreduce < step train.py:7 < main a.c:5");
  EXPECT_THAT(moved.Judge().findings, IsEmpty());
}

TEST(AttachJudge, MissingRankDiedOnlyIfAllRanksAreLocal) {
  ObservedJob job(3);
  job.Rank(0, kBarrier);
  job.Rank(1, kBarrier);
  ASSERT_THAT(job.Judge().findings, SizeIs(1));
  EXPECT_EQ(job.Judge().findings[0].kind, VerdictKind::kRankDied);
  job.job()->all_local = false;
  ASSERT_THAT(job.Judge().findings, SizeIs(1));
  EXPECT_EQ(job.Judge().findings[0].kind, VerdictKind::kInconclusive);
}

TEST(AttachJudge, NoFindingIfAllRanksFinalizeAtTwoPlaces) {
  ObservedJob job(3);
  job.Rank(0, "MPI_Finalize < main a.c:5");
  for (const int32_t rank : {1, 2}) job.Rank(rank, "MPI_Finalize < main a.c:7");
  EXPECT_THAT(job.Judge().findings, IsEmpty());
}

TEST(AttachJudge, RankInFinalizeWhileOthersWaitFinalizedEarly) {
  ObservedJob job(3);
  job.Rank(0, "MPI_Finalize < main a.c:50");
  job.Rank(1, kBarrier);
  job.Rank(2, kBarrier);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kFinalizedEarly);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(0));
  EXPECT_THAT(report.findings[0].waiting, ElementsAre(1, 2));
}

// As `run` says it: the call that few ranks made is extra.
TEST(AttachJudge, RankAloneInACollectiveIsTheCulpritIfTheOthersFinalize) {
  ObservedJob job(4);
  job.Rank(0, kReduce);
  for (int rank = 1; rank < 4; ++rank) job.Rank(rank, "MPI_Finalize < main a.c:50");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankConditionalCollective);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kLikely);
  EXPECT_EQ(report.findings[0].kind_certainty, Certainty::kSuspected);
  EXPECT_EQ(report.findings[0].operation, Operation::kAllreduce);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(0));
}

TEST(AttachJudge, NobodyIsNamedIfAsManyFinalizeAsWait) {
  ObservedJob job(2);
  job.Rank(0, kBarrier);
  job.Rank(1, "MPI_Finalize < main a.c:50");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
}

TEST(AttachJudge, RanksInFinalizeWaitForARankThatEnded) {
  ObservedJob job(4);
  job.Rank(0, kBarrier).Gone();
  job.Rank(1, "MPI_Finalize < main a.c:50");
  for (int rank = 2; rank < 4; ++rank) job.Rank(rank, "MPI_Finalize < fail a.c:7 < main a.c:30");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].title, "rank 0 ended; ranks 1-3 wait in MPI_Finalize");
  EXPECT_THAT(report.findings[0].waiting, ElementsAre(1, 2, 3));
  EXPECT_EQ(report.findings[0].sites.back().what, "ended");
}

TEST(AttachJudge, DoesNotSayThatAllRanksAreInACallIfOneIsMissing) {
  ObservedJob job(4);
  for (int rank = 0; rank < 3; ++rank) job.Rank(rank, "MPI_Init < main a.c:5");
  EXPECT_THAT(job.Judge().notes, Each(Not(HasSubstr("all ranks are in"))));
}

TEST(AttachJudge, RankThatFinalizesHasLeftTheLoopOfTheOthers) {
  ObservedJob job(4);
  job.Loop("a.c", 10, 20, "");
  for (const int32_t rank : {0, 2, 3}) job.Rank(rank, "MPI_Reduce < run a.c:12 < main b.c:5");
  job.Rank(1, "MPI_Finalize < run a.c:30 < main b.c:5");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kUnevenIterations);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(1));
}

// Rank 1 may leave the gather as soon as it has sent its part.
TEST(AttachJudge, RankThatLeftAGatherIsNotNamedForFinalizing) {
  ObservedJob job(4);
  for (const int32_t rank : {0, 2}) job.Rank(rank, "MPI_Gather < main a.c:45");
  job.Rank(1, "MPI_Finalize < main a.c:50");
  job.Rank(3, "MPI_Barrier < run a.c:12 < main a.c:40");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankConditionalCollective);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(3));
}

// The source shows that ranks 0-2 left run() by an exception that main catches: rank 3 is right to
// wait. A return may be chosen, and has to be agreed on: nobody is named.
TEST(AttachJudge, RanksThatLeftByAnExceptionAreNamedThoughTheyAreMost) {
  for (const bool thrown : {true, false}) {
    ObservedJob job(4);
    job.Source("a.cc", {{.kind = SourceBlock::Kind::kArm, .first = 7, .last = 9, .branch = 1}},
               {{.kind = SourceFlow::Kind::kFunction, .first = 5, .last = 20},
                {.kind = thrown ? SourceFlow::Kind::kThrow : SourceFlow::Kind::kReturn,
                 .first = 8,
                 .last = 8,
                 .condition = "bad"},
                {.kind = SourceFlow::Kind::kFunction, .first = 30, .last = 50},
                {.kind = SourceFlow::Kind::kTry, .first = 38, .last = 41, .group = 1},
                {.kind = SourceFlow::Kind::kHandler, .first = 42, .last = 43, .group = 1}});
    for (int rank = 0; rank < 3; ++rank) job.Rank(rank, "MPI_Allreduce < main a.cc:45");
    job.Rank(3, "MPI_Barrier < run a.cc:12 < main a.cc:40");
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(1));
    EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankConditionalCollective);
    const auto named = thrown ? std::vector<int32_t>{0, 1, 2} : std::vector<int32_t>();
    EXPECT_EQ(report.findings[0].culprits, named);
  }
}

// In each round of a loop, or only where an error ends the program.
TEST(AttachJudge, CallOfAnErrorPathIsNoRoundOfALoop) {
  for (const bool conditional : {false, true}) {
    ObservedJob job(4);
    job.Loop("a.c", 10, 20, "");
    if (conditional) job.Arm("e.cc", 5, 8, "", "", true);
    for (const int32_t rank : {0, 1, 3}) job.Rank(rank, "MPI_Allreduce < run a.c:30 < main b.c:5");
    job.Rank(2, "MPI_Barrier < check e.cc:7 < run a.c:12 < main b.c:5");
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(1));
    EXPECT_EQ(report.findings[0].kind, conditional ? VerdictKind::kRankConditionalCollective
                                                   : VerdictKind::kUnevenIterations);
    EXPECT_THAT(report.findings[0].culprits, ElementsAre(2));
  }
}

TEST(AttachJudge, AllRanksInTheSameCallSuggestAStalledTransport) {
  ObservedJob job(2);
  job.Rank(0, kBarrier);
  job.Rank(1, kBarrier);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kTransportStalled);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
}

TEST(AttachJudge, ReportsWhyAStackCouldNotBeTaken) {
  ObservedJob job(2);
  job.Rank(0, kBarrier).Hidden("kernel.yama.ptrace_scope is 2");
  job.Rank(1, kBarrier);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kInconclusive);
  EXPECT_THAT(report.findings[0].why, HasSubstr("ptrace_scope"));
}

TEST(AttachJudge, UnstoppableRankIsAFindingOnlyInUninterruptibleWait) {
  for (const bool in_kernel : {false, true}) {
    ObservedJob job(2);
    job.Rank(0, kBarrier).Unseen(in_kernel ? RunState::kDiskWait : RunState::kRunning);
    job.Rank(1, kBarrier);
    EXPECT_THAT(job.Judge().findings, SizeIs(in_kernel ? 1 : 0));
  }
}

TEST(AttachJudge, NoFindingIfAllRanksSpawnProcesses) {
  ObservedJob job(2);
  job.Rank(0, "MPI_Comm_spawn < main a.c:5");
  job.Rank(1, "MPI_Comm_spawn < main a.c:5");
  EXPECT_THAT(job.Judge().findings, IsEmpty());
}

constexpr char kGlooWaits[] = "epoll_wait@libc.so.6 < run@libgloo.so < clone3@libc.so.6";

TEST(AttachJudge, NoFindingWhileAGlooThreadTransfersData) {
  for (const uint64_t bytes : {100, 100'000}) {
    ObservedJob job(3);
    job.Rank(0, kReduce).Thread(kGlooWaits).Moved(bytes);
    job.Rank(1, kBarrier).Thread(kGlooWaits);
    job.Rank(2, kBarrier).Thread(kGlooWaits);
    EXPECT_THAT(job.Judge().findings, SizeIs(bytes == 100 ? 1 : 0));
  }
}

TEST(AttachJudge, ThreadWithUserFramesIsNotALibraryThread) {
  ObservedJob job(1);
  job.Rank(0, kBarrier)
      .Thread("read < hook a.c:3 < run@libgloo.so < clone3@libc.so.6")
      .Thread("poll@libc.so.6 < clone3@libc.so.6")
      .Thread(kGlooWaits);
  const Trace trace = job.Trace();
  std::vector<bool> of_library;
  for (const LiveStack& stack : trace.processes[0].live_stacks) {
    ThreadSample sample;
    for (const SourceFrame& frame : stack.frames) sample.frames.push_back({frame});
    sample.whole = true;
    of_library.push_back(IsOfLibrary(sample));
  }
  EXPECT_THAT(of_library, ElementsAre(false, false, false, true));
}

TEST(AttachJudge, NotesWhereWorkersOfAStalledDataLoaderAre) {
  ObservedJob job(2);
  job.Rank(0, "__next__ torch/utils/data/dataloader.py:300 < train train.py:20 < main a.c:5")
      .Asleep()
      .Helper("read < __getitem__ train.py:7 < fetch torch/utils/data/_utils/fetch.py:50");
  job.Rank(1, "MPI_Allreduce < train train.py:23 < main a.c:5");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankStalled);
  EXPECT_THAT(report.findings[0].notes,
              Contains("rank 0: process 4711 is in __getitem__ (train.py:7)"));
}

TEST(AttachJudge, NotesThreadsThatTheInterpreterJoinsAtExit) {
  ObservedJob job(2);
  job.Rank(0, "sem_wait < _shutdown /usr/lib/python3.11/threading.py:1583 < main a.c:5")
      .Asleep()
      .Thread("sem_wait < get /usr/lib/python3.11/queue.py:171 < save train.py:9");
  job.Rank(1, "MPI_Allreduce < train train.py:23 < main a.c:5");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankDied);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(0));
  EXPECT_EQ(report.findings[0].why, "it is in _shutdown");
  EXPECT_THAT(report.findings[0].notes, Contains("rank 0: thread 1001 is in save (train.py:9)"));
}

TEST(AttachJudge, RankInAnEarlierIterationIsBehind) {
  ObservedJob job(3);
  job.Loop("train.py", 18, 25, "step batch");
  for (int rank = 0; rank < 3; ++rank) {
    job.Rank(rank, std::string("MPI_Allreduce < train train.py:20 [step=") +
                       (rank == 2 ? "40" : "41") + " size=3] < main a.c:5");
  }
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kUnevenIterations);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(2));
  EXPECT_THAT(report.findings[0].waiting, ElementsAre(0, 1));
  EXPECT_THAT(report.findings[0].notes,
              Contains("step is 41 on ranks 0,1 and 40 on rank 2 (train, train.py:20)"));
}

TEST(AttachJudge, OnlyLoopVariablesShowWhichRankIsBehind) {
  ObservedJob job(3);
  for (int rank = 0; rank < 3; ++rank) {
    job.Rank(rank, std::string("MPI_Allreduce < train train.py:20 [rows=") +
                       (rank == 2 ? "40" : "41") + "] < main a.c:5");
  }
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kTransportStalled);
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
}

TEST(AttachJudge, NoFindingIfAllRanksCompute) {
  ObservedJob job(2);
  job.Rank(0, "kernel a.c:7 < main a.c:30").Changed();
  job.Rank(1, "kernel a.c:7 < main a.c:30").Changed();
  EXPECT_THAT(job.Judge().findings, IsEmpty());
}

TEST(AttachJudge, ProcessWithoutMpiSuggestsThatItsRankDied) {
  ObservedJob job(3);
  job.Rank(0, kBarrier);
  job.Rank(1, "clock_nanosleep < main sleep.c:5").Asleep().WithoutLibrary();
  job.Rank(2, kBarrier);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankDied);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(1));
  EXPECT_THAT(report.findings[0].why, HasSubstr("has not loaded MPI"));
}

TEST(AttachJudge, NoFindingIfARankWithoutLibraryRuns) {
  ObservedJob job(2);
  job.Rank(0, kBarrier);
  job.Rank(1, "kernel a.c:7 < main a.c:30").Changed().WithoutLibrary();
  EXPECT_THAT(job.Judge().findings, IsEmpty());
}

TEST(AttachJudge, NoFindingIfAProcessWithoutMpiIsAwaitedInInit) {
  ObservedJob job(2);
  job.Rank(0, "MPI_Init < main a.c:5");
  job.Rank(1, "clock_nanosleep < main wrapper.c:5").Asleep().WithoutLibrary();
  EXPECT_THAT(job.Judge().findings, IsEmpty());
}

// --- Findings from Open MPI's objects.

TEST(AttachJudge, RankThatSkippedACallOnItsCommunicatorIsTheCulprit) {
  ObservedJob job(4);
  for (const int rank : {0, 2}) job.Rank(rank, kBarrier).On("half", 0, 2);
  for (const int rank : {1, 3}) job.Rank(rank, kReduce).On("MPI_COMM_WORLD", 0, 3);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.kind, VerdictKind::kRankConditionalCollective);
  EXPECT_EQ(finding.certainty, Certainty::kLikely);
  EXPECT_THAT(finding.culprits, ElementsAre(1));
  EXPECT_THAT(finding.waiting, ElementsAre(0, 2, 3));
  EXPECT_THAT(finding.why, HasSubstr("rank 1 belongs to half"));
  ASSERT_THAT(finding.sites, SizeIs(3));
  EXPECT_THAT(finding.sites[2].ranks, ElementsAre(1));
  EXPECT_TRUE(finding.sites[2].culprit);
  EXPECT_FALSE(finding.sites[1].culprit);
}

TEST(AttachJudge, RankOutsideTheCommunicatorIsNotACulprit) {
  ObservedJob job(4);
  for (const int rank : {0, 1}) job.Rank(rank, kBarrier).On("half", 0, 1);
  for (const int rank : {2, 3}) job.Rank(rank, kReduce).On("MPI_COMM_WORLD", 0, 3);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
}

// Members of another communicator take part as well, or only a group of the members.
TEST(AttachJudge, MembersOfTheCommunicatorAreNotThoseThatMakeTheCall) {
  for (const std::string call : {"MPI_Intercomm_create", "MPI_Comm_create_group"}) {
    SCOPED_TRACE(call);
    ObservedJob job(4);
    for (const int rank : {0, 1}) job.Rank(rank, call + " < main a.c:8").On("part", 0, 2);
    for (const int rank : {2, 3}) job.Rank(rank, kReduce).On("MPI_COMM_WORLD", 0, 3);
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(1));
    EXPECT_THAT(report.findings[0].culprits, IsEmpty());
  }
}

TEST(AttachJudge, OneCallSiteOnTwoCommunicatorsIsAnOrderInversion) {
  ObservedJob job(3);
  for (const int rank : {0, 1}) job.Rank(rank, kReduce).On("planes 0", 0, 2);
  job.Rank(2, kReduce).On("planes 1", 0, 2);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kOrderInversion);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(2));
  EXPECT_THAT(report.findings[0].title, HasSubstr("\"planes 1\""));
}

TEST(AttachJudge, RowsOfAGridCountAsOneCall) {
  ObservedJob job(4);
  for (const int rank : {0, 1}) job.Rank(rank, kReduce).On("row", 0, 1);
  for (const int rank : {2, 3}) job.Rank(rank, kReduce).On("row", 2, 3);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kTransportStalled);
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
}

TEST(AttachJudge, UnknownCommunicatorDoesNotDistinguishCalls) {
  ObservedJob job(3);
  job.Rank(0, kReduce).On("planes 0", 0, 2);
  job.Rank(1, kReduce);
  job.Rank(2, kReduce).Awaits(1);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kTransportStalled);
}

// Three of four ranks are past a collective that a rank may leave before all have entered it.
ObservedJob OneInReduce(int32_t awaited) {
  ObservedJob job(4);
  job.Rank(0, "MPI_Reduce < step a.c:10 < main a.c:40").Awaits(awaited);
  for (int rank = 1; rank < 4; ++rank) job.Rank(rank, kReduce);
  return job;
}

TEST(AttachJudge, RankExcludedByTheConditionOfACollectiveIsTheCulprit) {
  ObservedJob job = OneInReduce(2);
  job.Arm("a.c", 9, 11, "rank", "2", /*equal=*/false);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].certainty, Certainty::kLikely);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(2));
  EXPECT_THAT(report.findings[0].waiting, ElementsAre(0, 1, 3));
}

TEST(AttachJudge, ConditionWithoutConfirmationByTheLibraryIsSuspected) {
  ObservedJob job = OneInReduce(-1);
  job.Arm("a.c", 9, 11, "rank", "2", /*equal=*/false);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(2));
}

TEST(AttachJudge, OnlyRankInAConditionalCallIsSuspected) {
  for (const bool told : {true, false}) {
    ObservedJob job = OneInReduce(1);
    job.Arm("a.c", 9, 11, told ? "rank" : "", told ? "0" : "", /*equal=*/true);
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(1));
    EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
    EXPECT_THAT(report.findings[0].culprits, ElementsAre(0));
    EXPECT_THAT(report.findings[0].waiting, ElementsAre(1, 2, 3));
  }
}

TEST(AttachJudge, NoCulpritIfTheLibraryContradictsTheCondition) {
  ObservedJob job = OneInReduce(3);
  job.Arm("a.c", 9, 11, "rank", "2", /*equal=*/false);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
}

TEST(AttachJudge, NoCulpritIfTheConditionIsNotOnTheRank) {
  for (const bool equal : {true, false}) {
    ObservedJob job = OneInReduce(1);
    job.Arm("a.c", 9, 11, "step", "7", equal);
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(1));
    EXPECT_THAT(report.findings[0].culprits, IsEmpty());
  }
}

TEST(AttachJudge, WaitForANonblockingCollectiveCountsAsACollective) {
  ObservedJob job(3);
  job.Rank(0, kReduce);
  for (const int rank : {1, 2}) {
    job.Rank(rank, "MPI_Wait < step a.c:10 < main a.c:40").OfCollective();
  }
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankConditionalCollective);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(0));
}

TEST(AttachJudge, RankOneIterationAheadSkippedTheCallOfThePreviousIteration) {
  for (const int ahead : {3, 1}) {
    ObservedJob job(3);
    job.Loop("train.py", 15, 30, "batch");
    job.Rank(1, "MPI_Bcast < train train.py:20 [batch=" + std::to_string(ahead) + "] < main a.c:5");
    for (const int rank : {0, 2})
      job.Rank(rank, "MPI_Allreduce < train train.py:25 [batch=2] < main a.c:5");
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(1));
    if (ahead == 3) {
      EXPECT_THAT(report.findings[0].culprits, ElementsAre(1));
    } else {
      EXPECT_THAT(report.findings[0].culprits,
                  IsEmpty());  // the others may have left the broadcast
    }
    EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);  // a loop may count downwards
  }
}

constexpr char kNeedsGil[] =
    "__pthread_cond_wait_common@libc.so.6 < ___pthread_cond_timedwait64@libc.so.6 < "
    "start threading.py:962 [n=1] < rank1 a.py:45 < main@python3";
constexpr char kHoldsGil[] = "MPI_Comm_dup@libmpi.so < f@MPI.so < run a.py:30 < start_thread@libc";

// The main thread of rank 1 cannot send while another thread is in a call with Python's lock.
TEST(AttachJudge, RankWhoseMainThreadNeverGetsPythonsLockIsStalled) {
  ObservedJob job(2);
  job.Rank(0, "MPI_Recv@libmpi.so < rank0 a.py:36 < main@python3").Awaits(1);
  job.Rank(1, kNeedsGil).Thread(kHoldsGil);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankStalled);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(1));
  EXPECT_THAT(report.findings[0].title, HasSubstr("the main thread of rank 1 waits for Python's"));
}

TEST(AttachJudge, NoFindingIfAThreadMayHaveHadPythonsLockInBetween) {
  for (const char* before : {"__pthread_cond_wait_common@libc.so.6 < "
                             "___pthread_cond_timedwait64@libc.so.6 < start threading.py:961 < "
                             "rank1 a.py:45 < main@python3",
                             "sqrt@libm.so.6 < rank1 a.py:44 < main@python3"}) {
    ObservedJob job(2);
    job.Rank(0, "MPI_Recv@libmpi.so < rank0 a.py:36 < main@python3").Awaits(1);
    job.Rank(1, kNeedsGil).Thread(kHoldsGil).Before(before);
    EXPECT_THAT(job.Judge().findings, IsEmpty());
  }
}

// All are in that call, but rank 2: it is rank 2 that did not arrive.
TEST(AttachJudge, RanksWithoutPythonsLockAreNotStalledIfMostAreSo) {
  ObservedJob job(3);
  for (const int32_t rank : {0, 1}) job.Rank(rank, kNeedsGil).Thread(kHoldsGil);
  job.Rank(2, "MPI_Recv@libmpi.so < rank0 a.py:36 < main@python3");
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_NE(report.findings[0].kind, VerdictKind::kRankStalled);
  EXPECT_THAT(report.findings[0].culprits, Not(Contains(0)));
}

// Behind its gather, the error path ends the program: no rank that is elsewhere has made it. Who
// throws there may have been caught.
TEST(AttachJudge, RankInAnErrorPathThatEndsTheProgramIsNamed) {
  for (const bool ends : {true, false}) {
    ObservedJob job(4);
    job.Source(
        "e.c", {{.kind = SourceBlock::Kind::kArm, .first = 20, .last = 22, .branch = 1}},
        {{.kind = SourceFlow::Kind::kFunction, .first = 5, .last = 10},
         {.kind = ends ? SourceFlow::Kind::kEnd : SourceFlow::Kind::kThrow, .first = 9, .last = 9},
         {.kind = SourceFlow::Kind::kFunction, .first = 15, .last = 30}});
    job.Rank(0, "MPI_Gather < fatal e.c:7 < time_step e.c:21 < main a.c:40");
    for (int rank = 1; rank < 4; ++rank) job.Rank(rank, "MPI_Barrier < main a.c:41");
    const Report report = job.Judge();
    ASSERT_THAT(report.findings, SizeIs(1));
    EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankConditionalCollective);
    const auto named = ends ? std::vector<int32_t>{0} : std::vector<int32_t>();
    EXPECT_EQ(report.findings[0].culprits, named);
  }
}

}  // namespace
}  // namespace rollcall::attach
