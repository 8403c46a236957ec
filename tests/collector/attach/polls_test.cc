// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/polls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/collector/attach/observed_job.h"

namespace rollcall::attach {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ObservedJob;
using ::testing::SizeIs;

constexpr char kSleeps[] = "clock_nanosleep < nanosleep < collect a.c:9 < main a.c:30";
constexpr char kReceives[] = "poll < MPI_Recv < work a.c:20 < main a.c:31";

// Rank 0 sleeps in a loop at lines `loop_begins` to 10 and makes `calls`; rank 1 receives.
Report JudgePoller(const std::string& calls, int loop_begins = 6) {
  ObservedJob job(2);
  job.Loop("a.c", loop_begins, 10, "");
  job.Rank(0, kSleeps).Asleep(230).Calls("collect", calls);
  job.Rank(1, kReceives);
  return job.Judge();
}

TEST(AttachPolls, LoopThatOnlySleepsAndProbesIsWaiting) {
  const Report report = JudgePoller("MPI_Iprobe a.c:7 < nanosleep a.c:9 < MPI_Send a.c:12");
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kP2pDeadlock);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kSuspected);
  EXPECT_THAT(report.findings[0].culprits, ElementsAre(0, 1));
}

TEST(AttachPolls, LoopThatMayDoAnythingElseIsNotWaiting) {
  for (const char* calls :
       {"MPI_Iprobe a.c:7 < nanosleep a.c:9 < stat a.c:8", "nanosleep a.c:9",
        "MPI_Test a.c:7 < nanosleep a.c:9", "MPI_Iprobe a.c:7",
        "MPI_Iprobe a.c:4 < nanosleep a.c:9", "MPI_Iprobe a.c:7 < nanosleep a.c:9 <  a.c:8"}) {
    SCOPED_TRACE(calls);
    EXPECT_THAT(JudgePoller(calls).findings, IsEmpty());
  }
}

TEST(AttachPolls, NoFindingIfTheLoopOrItsCallsAreUnknown) {
  EXPECT_THAT(JudgePoller("MPI_Iprobe a.c:7 < nanosleep a.c:9", /*loop_begins=*/10).findings,
              IsEmpty());
  EXPECT_THAT(JudgePoller("").findings, IsEmpty());
}

}  // namespace
}  // namespace rollcall::attach
