// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/collector/core/core_builder.h"
#include "tests/support/temporary_directory.h"

namespace rollcall::attach {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FindCoresTest : public ::testing::Test {
 protected:
  // The core of a process that has loaded MPI.
  std::string Core(const std::string& file, pid_t pid, pid_t parent,
                   const std::vector<std::string>& environment) {
    CoreBuilder core;
    core.Process(pid, parent, "app")
        .Thread(pid, 0x401000, 0x7ffe0000)
        .File(0x10000, 0x11000, 0, "/usr/lib/libmpi.so.40")
        .Memory(0x10000, "", 0x1000, PF_R | PF_X)
        .Environment(environment);
    const std::vector<uint8_t> bytes = core.Build();
    return directory_.Write(file, {bytes.begin(), bytes.end()});
  }
  std::string Rank(const std::string& file, int rank, int size, const std::string& job) {
    return Core(file, 100 + rank, 50,
                {"HOME=/root", "OMPI_COMM_WORLD_RANK=" + std::to_string(rank),
                 "OMPI_COMM_WORLD_SIZE=" + std::to_string(size), "PMIX_NAMESPACE=" + job});
  }
  FoundCores Find() const { return FindCores(directory_.path()); }

  const TemporaryDirectory directory_;
};

TEST_F(FindCoresTest, FindsRanksRegardlessOfFileNames) {
  Rank("zebra", 0, 3, "j1");
  Rank("core.17", 2, 3, "j1");
  Rank("core.18", 1, 3, "j1");
  directory_.Write("notes.txt", "no core");
  const FoundCores found = Find();
  EXPECT_THAT(found.problems, IsEmpty());
  ASSERT_THAT(found.jobs, SizeIs(1));
  const CoreJob& job = found.jobs[0];
  EXPECT_EQ(job.job.launcher, "Open MPI");
  EXPECT_EQ(job.job.size, 3);
  EXPECT_FALSE(job.job.all_local) << "a rank without a core need not be dead";
  ASSERT_THAT(job.cores, SizeIs(3));
  EXPECT_EQ(job.cores[0].file, "zebra");
  EXPECT_EQ(job.cores[2].file, "core.17");
  EXPECT_EQ(job.job.ranks[2].rank, 2);
  EXPECT_EQ(job.job.ranks[2].pid, 102);
}

TEST_F(FindCoresTest, DistinguishesSeveralJobs) {
  Rank("a", 0, 2, "j1");
  Rank("b", 0, 2, "j2");
  EXPECT_THAT(Find().jobs, SizeIs(2));
}

// Hydra does not name the job, and ranks on different nodes have different parents.
TEST_F(FindCoresTest, TreatsOneDirectoryAsOneJobIfJobsHaveNoName) {
  Core("a", 100, 50, {"PMI_RANK=0", "PMI_SIZE=2"});
  Core("b", 100, 60, {"PMI_RANK=1", "PMI_SIZE=2"});
  ASSERT_THAT(Find().jobs, SizeIs(1));
  EXPECT_THAT(Find().jobs[0].cores, SizeIs(2));
  Core("c", 101, 60, {"PMI_RANK=0", "PMI_SIZE=2"});
  EXPECT_THAT(Find().jobs, SizeIs(2)) << "rank 0 twice: told apart by their parents";
}

TEST_F(FindCoresTest, ChildOfARankIsItsHelper) {
  Core("a", 100, 50, {"RANK=0", "WORLD_SIZE=1"});
  Core("b", 90, 100, {"RANK=0", "WORLD_SIZE=1"});
  const FoundCores found = Find();
  ASSERT_THAT(found.jobs, SizeIs(1));
  ASSERT_THAT(found.jobs[0].job.ranks, SizeIs(1));
  EXPECT_EQ(found.jobs[0].job.ranks[0].pid, 100);
  EXPECT_THAT(found.jobs[0].job.ranks[0].helpers, ElementsAre(90));
  EXPECT_THAT(found.problems, IsEmpty());
}

TEST_F(FindCoresTest, ReportsFilesThatAreLeftOut) {
  Rank("a", 0, 2, "j1");
  Rank("b", 0, 2, "j1");
  Core("c", 300, 1, {"HOME=/root"});
  CoreBuilder empty;
  const std::vector<uint8_t> bytes = empty.Memory(0x7000, "stack").Build();
  directory_.Write("d", {bytes.begin(), bytes.end()});
  EXPECT_THAT(Find().problems,
              ElementsAre("c: its environment, if there is one, names no rank",
                          HasSubstr("d: it has no thread"), "b is left out: rank 0 is a, too"));
}

TEST_F(FindCoresTest, MissingDirectoryIsAnError) {
  const FoundCores found = FindCores(directory_.Path("nothing"));
  EXPECT_THAT(found.jobs, IsEmpty());
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("No such file")));
}

// No module can be verified here, so no stack is unwound past its first frame; the rank is still
// identified.
TEST_F(FindCoresTest, SamplesEachCoreOnce) {
  Rank("core.1", 0, 1, "j1");
  const FoundCores found = Find();
  ASSERT_THAT(found.jobs, SizeIs(1));
  std::vector<std::string> problems;
  const std::vector<ObservedRank> observed = SampleCores(found.jobs[0], true, &problems);
  ASSERT_THAT(observed, SizeIs(1));
  ASSERT_TRUE(observed[0].core.has_value());
  EXPECT_EQ(observed[0].core->file, "core.1");
  EXPECT_FALSE(observed[0].core->fault);
  EXPECT_FALSE(observed[0].first.state.has_value());
  ASSERT_THAT(observed[0].second.threads, SizeIs(1));
  EXPECT_THAT(problems, ElementsAre(HasSubstr("libmpi.so.40 is not here")));
}

}  // namespace
}  // namespace rollcall::attach
