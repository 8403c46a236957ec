// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/rank_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collector/attach/observed_job.h"

namespace rollcall::attach {
namespace {

using ::testing::ElementsAre;
using testing::ObservedJob;

TEST(RankStacks, MergesRanksWithEqualStacks) {
  ObservedJob job(3);
  job.Rank(0, "read < load a.c:9 < main a.c:38").Asleep();
  job.Rank(1, "poll < MPI_Barrier < step a.c:10 < main a.c:40");
  job.Rank(2, "poll < MPI_Barrier < step a.c:10 < main a.c:40");
  EXPECT_THAT(StackTreeLines(StackTree(RankStacks(job.Trace()), false)),
              ElementsAre("0     main (a.c:38)",               //
                          "0     load (a.c:9)",                //
                          "0     → reading or writing, read",  //
                          "1,2   main (a.c:40)",               //
                          "1,2   step (a.c:10)",               //
                          "1,2   → MPI_Barrier"));
}

TEST(RankStacks, IndentsDivergingPaths) {
  ObservedJob job(2);
  job.Rank(0, "MPI_Allreduce < step a.c:20 < main a.c:40");
  job.Rank(1, "MPI_Barrier < step a.c:10 < main a.c:40");
  EXPECT_THAT(StackTreeLines(StackTree(RankStacks(job.Trace()), false)),
              ElementsAre("0,1   main (a.c:40)",    //
                          "0       step (a.c:20)",  //
                          "0       → MPI_Allreduce",
                          "1       step (a.c:10)",  //
                          "1       → MPI_Barrier"));
}

TEST(RankStacks, ShowsRankWithoutStack) {
  ObservedJob job(1);
  job.Rank(0, "main a.c:1").Hidden("no permission");
  EXPECT_THAT(StackTreeLines(StackTree(RankStacks(job.Trace()), false)),
              ElementsAre("0   → no stack"));
}

}  // namespace
}  // namespace rollcall::attach
