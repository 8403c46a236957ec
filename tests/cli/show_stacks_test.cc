// SPDX-License-Identifier: Apache-2.0
// `rollcall show` of a directory that `rollcall attach` wrote: it has stacks, but no calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/attach/stacks.h"
#include "tests/cli/command_line.h"
#include "tests/collector/attach/observed_job.h"
#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

using ::testing::HasSubstr;

class ShowStacks : public ::testing::Test {
 protected:
  ShowStacks() {
    attach::testing::ObservedJob job(3);
    job.Rank(0, "read < load a.c:9 < main a.c:38").Asleep().Thread("poll < watch b.c:4");
    job.Rank(1, "poll < MPI_Barrier < step a.c:10 < main a.c:40");
    job.Rank(2, "poll < MPI_Barrier < step a.c:10 < main a.c:40");
    directory_.Write("stacks.jsonl", attach::WriteStacks(job.On("n1"), "1.0"));
  }
  Outcome Show(std::vector<std::string> options) {
    options.insert(options.begin(), {ROLLCALL_BIN, "show", directory_.path()});
    return RunCommand(options);
  }

  const TemporaryDirectory directory_;
};

TEST_F(ShowStacks, ShowsTheTreeWithoutOptions) {
  const Outcome shown = Show({});
  EXPECT_EQ(shown.exit_code(), 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("  stacks\n    0     main (a.c:38)\n"));
  EXPECT_THAT(shown.out, HasSubstr("    1,2   → MPI_Barrier\n"));
}

TEST_F(ShowStacks, ShowsAllThreadsOfARank) {
  const Outcome shown = Show({"--rank", "0"});
  EXPECT_EQ(shown.exit_code(), 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("rank 0 on n1, pid 100\n\n    thread 100"));
  EXPECT_THAT(shown.out, HasSubstr("a.c:9    load\n"));
  EXPECT_THAT(shown.out, HasSubstr("    thread 1001, sleeping"));
  EXPECT_THAT(shown.out, HasSubstr("b.c:4   watch\n"));
}

TEST_F(ShowStacks, ComparesTwoRanksByTheirTree) {
  const Outcome shown = Show({"--diff", "0", "2"});
  EXPECT_EQ(shown.exit_code(), 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("    2   → MPI_Barrier\n"));
}

TEST_F(ShowStacks, ReportsUnknownRanksAndMissingCalls) {
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"--rank", "7"},
                                             {"--diff", "0", "7"},
                                             {"--communicator", "x"},
                                             {"--sequence", "3"},
                                             {"--messages"}}) {
    const Outcome shown = Show(options);
    EXPECT_EQ(shown.exit_code(), 2);
    EXPECT_THAT(shown.err, HasSubstr(options.back() == "7" ? "there is no stack of rank 7"
                                                           : "has no calls, communicators"));
    EXPECT_EQ(shown.out, "");
  }
}

}  // namespace
}  // namespace rollcall
