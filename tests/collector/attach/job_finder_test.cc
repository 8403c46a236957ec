// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/job_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace rollcall::attach {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uid_t kUser = 1000;

// The part of a machine's /proc that the finder reads.
class Machine {
 public:
  void Process(pid_t pid, pid_t parent, const std::string& name,
               const std::vector<std::string>& environment, const std::string& library = "") {
    const std::string directory = root() + "/proc/" + std::to_string(pid);
    std::filesystem::create_directories(directory);
    std::string stat = std::to_string(pid) + " (" + name + ") S " + std::to_string(parent);
    for (int field = 5; field <= 52; ++field) stat += field == 22 ? " 777" : " 0";
    Write(directory + "/stat", stat);
    Write(directory + "/status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\n");
    std::string block;
    for (const std::string& variable : environment) block += variable + '\0';
    Write(directory + "/environ", block);
    if (!library.empty()) {
      Write(directory + "/maps", "7f00-7f10 r-xp 00000000 08:01 42    /usr/lib/" + library + "\n");
    }
  }
  void RemoveEnvironment(pid_t pid) {
    std::filesystem::remove(root() + "/proc/" + std::to_string(pid) + "/environ");
  }
  FoundJobs Find(uid_t user = kUser, const RankFilter& filter = {}) const {
    return FindJobs(ProcSource(root()), user, filter);
  }

 private:
  std::string root() const { return directory_.path(); }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  const TemporaryDirectory directory_;
};

std::vector<std::string> OpenMpi(int rank, int size) {
  return {"OMPI_COMM_WORLD_RANK=" + std::to_string(rank),
          "OMPI_COMM_WORLD_SIZE=" + std::to_string(size),
          "OMPI_COMM_WORLD_LOCAL_SIZE=" + std::to_string(size), "PMIX_NAMESPACE=11"};
}

std::vector<std::string> Torch(int rank, int size) {
  return {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(size), "MASTER_ADDR=a",
          "MASTER_PORT=1"};
}

std::vector<pid_t> Pids(const FoundJob& job) {
  std::vector<pid_t> pids;
  for (const JobRank& rank : job.ranks) pids.push_back(rank.pid);
  return pids;
}

TEST(JobFinder, GroupsRanksOfOneLauncherIntoOneJob) {
  Machine machine;
  machine.Process(10, 5, "mpirun", {});
  machine.Process(12, 10, "solver", OpenMpi(1, 2), "libmpi.so.40");
  machine.Process(13, 10, "solver", OpenMpi(0, 2), "libmpi.so.40");
  const FoundJobs found = machine.Find();
  ASSERT_THAT(found.jobs, SizeIs(1));
  EXPECT_EQ(found.jobs[0].launcher, "Open MPI");
  EXPECT_EQ(found.jobs[0].size, 2);
  EXPECT_TRUE(found.jobs[0].all_local);
  EXPECT_THAT(Pids(found.jobs[0]), ElementsAre(13, 12)) << "by rank";
  EXPECT_EQ(found.jobs[0].ranks[0].start_ticks, 777u);
  EXPECT_THAT(found.jobs[0].others, Contains(10));
}

TEST(JobFinder, ShellThatStartsTheProgramIsNotTheRank) {
  Machine machine;
  machine.Process(12, 10, "bash", OpenMpi(0, 1));
  machine.Process(13, 12, "solver", OpenMpi(0, 1), "libmpi.so.40");
  const FoundJobs found = machine.Find();
  ASSERT_THAT(found.jobs, SizeIs(1));
  EXPECT_THAT(Pids(found.jobs[0]), ElementsAre(13));
  EXPECT_THAT(found.jobs[0].others, Contains(12));
  EXPECT_THAT(found.jobs[0].ranks[0].helpers, IsEmpty());
}

TEST(JobFinder, TellsWhetherARankCanCommunicate) {
  Machine machine;
  machine.Process(12, 10, "sleep", OpenMpi(0, 3), "libc.so.6");
  machine.Process(13, 10, "solver", OpenMpi(1, 3), "libmpi.so.40");
  machine.Process(14, 10, "static", OpenMpi(2, 3), "data.bin");
  const FoundJobs found = machine.Find();
  ASSERT_THAT(found.jobs, SizeIs(1));
  ASSERT_THAT(found.jobs[0].ranks, SizeIs(3));
  EXPECT_FALSE(found.jobs[0].ranks[0].communicates);
  EXPECT_TRUE(found.jobs[0].ranks[1].communicates);
  EXPECT_TRUE(found.jobs[0].ranks[2].communicates);
}

TEST(JobFinder, ListsWorkersThatARankStartedAsHelpers) {
  Machine machine;
  machine.Process(12, 10, "python3", Torch(0, 1), "libtorch_cpu.so");
  machine.Process(13, 12, "python3", Torch(0, 1), "libtorch_cpu.so");
  machine.Process(14, 12, "python3", Torch(0, 1), "libtorch_cpu.so");
  const FoundJobs found = machine.Find();
  ASSERT_THAT(found.jobs, SizeIs(1));
  EXPECT_THAT(Pids(found.jobs[0]), ElementsAre(12));
  EXPECT_THAT(found.jobs[0].ranks[0].helpers, ElementsAre(13, 14));
}

TEST(JobFinder, TorchrunAgentThatIsASlurmTaskIsNotARankOfTheWorkersJob) {
  Machine machine;
  const std::vector<std::string> task = {"SLURM_PROCID=0", "SLURM_NTASKS=1", "SLURM_JOB_ID=7"};
  machine.Process(12, 10, "torchrun", task, "libtorch_cpu.so");
  std::vector<std::string> worker = Torch(0, 2);
  worker.insert(worker.end(), task.begin(), task.end());
  machine.Process(13, 12, "python3", worker, "libtorch_cpu.so");
  const FoundJobs found = machine.Find();
  ASSERT_THAT(found.jobs, SizeIs(1));
  EXPECT_EQ(found.jobs[0].launcher, "PyTorch");
  EXPECT_THAT(Pids(found.jobs[0]), ElementsAre(13));
}

TEST(JobFinder, DistinguishesUnnamedJobsByParentProcess) {
  Machine machine;
  machine.Process(12, 10, "a", {"PMI_RANK=0", "PMI_SIZE=1"}, "libmpich.so.12");
  machine.Process(22, 20, "b", {"PMI_RANK=0", "PMI_SIZE=1"}, "libmpich.so.12");
  EXPECT_THAT(machine.Find().jobs, SizeIs(2));
}

TEST(JobFinder, OnlyRootSeesJobsOfOtherUsers) {
  Machine machine;
  machine.Process(12, 10, "solver", OpenMpi(0, 1), "libmpi.so.40");
  EXPECT_THAT(machine.Find(kUser + 1).jobs, IsEmpty());
  EXPECT_THAT(machine.Find(0).jobs, SizeIs(1));
}

TEST(JobFinder, ProcessWithoutEnvironmentFileIsNotCountedAsHidden) {
  Machine machine;
  machine.Process(2, 0, "kthreadd", {});
  machine.RemoveEnvironment(2);
  EXPECT_EQ(machine.Find().hidden, 0u);
}

TEST(JobFinder, RecognizesLibraryByItsFileName) {
  EXPECT_TRUE(IsCommunicationLibrary("/usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4"));
  EXPECT_TRUE(IsCommunicationLibrary("/opt/libnccl.so.2"));
  EXPECT_FALSE(IsCommunicationLibrary("/opt/libmpi/libother.so"));
  EXPECT_FALSE(IsCommunicationLibrary("/usr/include/libmpi.h"));
}

TEST(JobFinder, FiltersOutRanksOfOtherSlurmJobsAndNodes) {
  Machine machine;
  const auto add = [&](int rank, const char* job, const char* node) {
    std::vector<std::string> environment = OpenMpi(rank, 4);
    environment.push_back(std::string("SLURM_JOB_ID=") + job);
    if (*node != '\0') environment.push_back(std::string("SLURMD_NODENAME=") + node);
    machine.Process(100 + rank, 10, "app", environment, "libmpi.so.40");
  };
  add(0, "7", "n1");
  add(1, "7", "n2");
  add(2, "8", "n1");
  add(3, "7", "");  // started by mpirun beside Slurm's daemon
  const FoundJobs found = machine.Find(kUser, {.slurm_job = "7", .slurm_node = "n1"});
  ASSERT_THAT(found.jobs, SizeIs(1));
  ASSERT_THAT(found.jobs[0].ranks, SizeIs(2));
  EXPECT_EQ(found.jobs[0].ranks[0].rank, 0);
  EXPECT_EQ(found.jobs[0].ranks[1].rank, 3);
}

}  // namespace
}  // namespace rollcall::attach
