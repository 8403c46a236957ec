// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/graph/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/collector/attach/observed_job.h"

namespace rollcall::attach {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ObservedJob;

std::vector<std::string> Texts(const ObservedJob& job) {
  std::vector<std::string> texts;
  for (const ComparedVariable& variable : CompareVariables(job.Trace())) {
    texts.push_back(VariableText(variable));
  }
  return texts;
}

TEST(Variables, ShowsDifferingVariablesWithLoopVariablesFirst) {
  ObservedJob job(3);
  job.Loop("train.py", 15, 30, "step");
  job.Rank(0, "MPI_Barrier < train train.py:20 [rows=5 step=7 size=3] < <module> train.py:40");
  job.Rank(1, "MPI_Barrier < train train.py:20 [rows=4 step=7 size=3] < <module> train.py:40");
  job.Rank(2, "MPI_Barrier < train train.py:20 [rows=5 step=6 size=3] < <module> train.py:40");
  EXPECT_THAT(Texts(job),
              ElementsAre("step is 7 on ranks 0,1 and 6 on rank 2 (train, train.py:20)",
                          "rows is 5 on ranks 0,2 and 4 on rank 1 (train, train.py:20)"));
}

TEST(Variables, DoesNotShowTheRankItself) {
  ObservedJob job(2);
  job.Rank(0, "MPI_Barrier < train train.py:20 [rank=0]");
  job.Rank(1, "MPI_Barrier < train train.py:20 [rank=1]");
  EXPECT_THAT(Texts(job), IsEmpty());
}

TEST(Variables, ShowsNothingIfThereAreTooManyValues) {
  ObservedJob job(6);
  for (int rank = 0; rank < 6; ++rank) {
    job.Rank(rank, "MPI_Barrier < train train.py:20 [seed=" + std::to_string(7 * rank) + "]");
  }
  EXPECT_THAT(Texts(job), IsEmpty());
}

TEST(Variables, DoesNotCompareFramesInsideTheDivergingFrame) {
  ObservedJob job(2);
  job.Rank(0, "MPI_Barrier < log train.py:3 [n=1] < train train.py:20 [step=6]");
  job.Rank(1, "MPI_Barrier < log train.py:3 [n=2] < train train.py:25 [step=5]");
  EXPECT_THAT(Texts(job), ElementsAre("step is 5 on rank 1 and 6 on rank 0 (train, train.py:20)"));
}

TEST(Variables, VariableOfALoopElsewhereIsNotALoopVariable) {
  ObservedJob job(2);
  job.Loop("train.py", 1, 5, "step");
  job.Rank(0, "MPI_Barrier < train train.py:20 [step=6]");
  job.Rank(1, "MPI_Barrier < train train.py:20 [step=5]");
  const std::vector<ComparedVariable> variables = CompareVariables(job.Trace());
  ASSERT_EQ(variables.size(), 1U);
  EXPECT_FALSE(variables[0].counts);
}

TEST(Variables, FrameThatOneRankLacksEndsTheComparison) {
  ObservedJob job(2);
  job.Rank(0, "MPI_Barrier < train train.py:20 [step=6]");
  job.Rank(1, "MPI_Barrier < main a.c:20");
  EXPECT_THAT(Texts(job), IsEmpty());
}

}  // namespace
}  // namespace rollcall::attach
