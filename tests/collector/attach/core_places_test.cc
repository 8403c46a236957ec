// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "collector/attach/rank_stacks.h"
#include "tests/collector/attach/observed_job.h"

namespace rollcall::attach {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::ObservedJob;
using ::testing::SizeIs;

constexpr char kInBarrier[] = "poll < MPI_Barrier < step a.c:10 < main a.c:40";
constexpr char kInReduce[] = "poll < PMPI_Allreduce < step a.c:20 < main a.c:40";

// The report must not claim what only two samples of a live process can show.
void ExpectNoClaimOfTime(const Report& report) {
  for (const Finding& finding : report.findings) {
    std::vector<std::string> texts = finding.notes;
    texts.insert(texts.end(), {finding.title, finding.why});
    for (const Site& site : finding.sites) texts.push_back(site.what);
    EXPECT_THAT(texts, Each(Not(AnyOf(HasSubstr("two samples"), HasSubstr("did not"),
                                      HasSubstr("alive"), HasSubstr("moves")))));
  }
}

TEST(AttachCores, DivergingRanksAreOnlySuspected) {
  ObservedJob job(4);
  job.Rank(0, kInReduce).Core(SIGABRT);
  for (int rank = 1; rank < 4; ++rank) job.Rank(rank, kInBarrier).Core(SIGABRT);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.kind, VerdictKind::kRankConditionalCollective);
  EXPECT_EQ(finding.certainty, Certainty::kSuspected);
  EXPECT_EQ(finding.kind_certainty, Certainty::kSuspected);
  EXPECT_THAT(finding.culprits, ElementsAre(0));
  EXPECT_THAT(finding.notes, Contains(HasSubstr("may still have been moving")));
  ExpectNoClaimOfTime(report);
}

TEST(AttachCores, ReportsRankOutsideEveryCallAsStalled) {
  ObservedJob job(3);
  job.Rank(0, kInBarrier).Core(SIGABRT);
  job.Rank(1, "read < load a.c:9 < main a.c:38").Core(SIGABRT);
  job.Rank(2, kInBarrier).Core(SIGABRT);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankStalled);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(1));
  EXPECT_EQ(report.findings[0].sites.back().what, "reading or writing");
  ExpectNoClaimOfTime(report);
}

TEST(AttachCores, FaultingRankDiedButRanksAbortedByWatchdogDidNot) {
  ObservedJob job(3);
  job.Rank(0, kInBarrier).Core(SIGABRT);
  job.Rank(1, kInBarrier).Core(SIGABRT);
  job.Rank(2, "fill a.c:7 < main a.c:38").Core(SIGSEGV, /*fault=*/true);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.kind, VerdictKind::kRankDied);
  EXPECT_EQ(finding.certainty, Certainty::kLikely);
  EXPECT_THAT(finding.culprits, ElementsAre(2));
  EXPECT_EQ(finding.title, "rank 2 was ended by SIGSEGV; ranks 0,1 wait in MPI_Barrier");
  EXPECT_EQ(finding.sites.back().frame.line, 7);
  const Trace trace = job.Trace();
  EXPECT_THAT(StackTreeLines(StackTree(RankStacks(trace), false)),
              Contains(HasSubstr("ended by SIGSEGV")));
}

// The same signal, sent by a watchdog to a rank that waits.
TEST(AttachCores, SegmentationSignalFromOutsideIsNotADeath) {
  ObservedJob job(2);
  job.Rank(0, kInBarrier).Core(SIGSEGV);
  job.Rank(1, kInBarrier).Core(SIGSEGV);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kTransportStalled);
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
}

TEST(AttachCores, ReportsRankThatCallsAbortAsDead) {
  ObservedJob job(2);
  job.Rank(0, kInBarrier).Core(SIGABRT);
  job.Rank(1, "raise < abort < check a.c:5 < main a.c:38").Core(SIGABRT);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankDied);
  EXPECT_THAT(report.findings[0].title, HasSubstr("rank 1 was ended by abort()"));
}

TEST(AttachCores, AbortInWatchdogThreadIsNotADeathOfTheRank) {
  ObservedJob job(2);
  for (int rank = 0; rank < 2; ++rank) {
    job.Rank(rank, rank == 0 ? kInBarrier : kInReduce)
        .Thread("raise < abort < watchdog w.c:5")
        .Core(SIGABRT);
  }
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kRankConditionalCollective);
}

TEST(AttachCores, ReportsCrashEvenIfNoRankWaits) {
  ObservedJob job(1);
  job.Rank(0, "fill a.c:7 < main a.c:38").Core(SIGBUS, /*fault=*/true);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].title, "rank 0 was ended by SIGBUS");
  EXPECT_EQ(report.status, Report::Status::kFailed);
}

TEST(AttachCores, NamesRanksWithoutCoreButNotAsCulprits) {
  ObservedJob job(3);
  job.Rank(0, kInBarrier).Core(SIGABRT);
  job.Rank(1, kInBarrier).Core(SIGABRT);
  job.job()->all_local = false;
  const Report report = job.Judge();
  EXPECT_THAT(report.notes, Contains("there is no core file of rank 2 of 3"));
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kInconclusive);
  EXPECT_THAT(report.findings[0].culprits, IsEmpty());
  EXPECT_EQ(report.status, Report::Status::kStopped);
}

TEST(AttachCores, CoreWithoutStacksIsInconclusive) {
  ObservedJob job(2);
  job.Rank(0, kInBarrier).Core(SIGABRT);
  job.Rank(1, kInBarrier).Hidden("libunwind was ended by SIGSEGV at this core").Core(SIGABRT);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kInconclusive);
  EXPECT_THAT(report.findings[0].why, HasSubstr("libunwind"));
}

TEST(AttachCores, DataLoaderWorkerIsNotTheRank) {
  ObservedJob job(2);
  job.Rank(0, kInBarrier).Core(SIGABRT);
  job.Rank(1,
           "read < _worker_loop torch/utils/data/_utils/worker.py:300 < "
           "_bootstrap multiprocessing/process.py:314 < __next__ torch/utils/data/dataloader.py:9")
      .Core(SIGABRT);
  const Report report = job.Judge();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kInconclusive);
  EXPECT_THAT(report.findings[0].why, HasSubstr("core.1 belongs to a data loader worker"));
}

TEST(AttachCores, ShowsNoProcessAsAlive) {
  ObservedJob job(2);
  job.Rank(0, kInBarrier).Core(SIGABRT);
  job.Rank(1, kInBarrier).Core(0);  // gcore(1)
  const Trace trace = job.Trace();
  EXPECT_EQ(trace.processes[0].end.how, ProcessEnd::How::kSignaled);
  EXPECT_EQ(trace.processes[0].end.status, SIGABRT);
  EXPECT_EQ(trace.processes[0].source, "core.0");
  EXPECT_EQ(trace.processes[1].end.how, ProcessEnd::How::kUnknown);
}

}  // namespace
}  // namespace rollcall::attach
