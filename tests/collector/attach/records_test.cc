// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/temporary_directory.h"

namespace rollcall::attach {
namespace {

using ::testing::ElementsAre;

Report Found(Certainty certainty) {
  Report report;
  report.findings.emplace_back().certainty = certainty;
  return report;
}

TEST(AttachRecords, RecordsTellMoreUnlessLessCertain) {
  EXPECT_TRUE(IsMoreInformative(Found(Certainty::kProven), Found(Certainty::kLikely)));
  EXPECT_TRUE(IsMoreInformative(Found(Certainty::kLikely), Found(Certainty::kLikely)));
  EXPECT_FALSE(IsMoreInformative(Found(Certainty::kInconclusive), Found(Certainty::kSuspected)));
  EXPECT_TRUE(IsMoreInformative(Found(Certainty::kInconclusive), {}));
  EXPECT_FALSE(IsMoreInformative({}, {}));
}

FoundJob JobOf(std::initializer_list<pid_t> pids) {
  FoundJob job;
  for (const pid_t pid : pids) {
    JobRank& rank = job.ranks.emplace_back();
    rank.rank = static_cast<int32_t>(job.ranks.size()) - 1;
    rank.pid = pid;
  }
  return job;
}

TEST(AttachRecords, FindsRunDirectoriesByMappedRings) {
  const TemporaryDirectory dir;
  const std::string a = dir.Write("run/rings/a.ring", "x");
  const std::string b = dir.Write("run/rings/b.ring", "x");
  const std::string alone = dir.Write("elsewhere/c.ring", "x");
  const std::string line = "7f00-7f10 rw-s 00000000 00:01 42    ";
  dir.Write("proc/10/maps", line + "/lib/libc.so\n" + line + a + "\n" + line + alone + "\n");
  dir.Write("proc/11/maps", line + b + "\n");
  std::filesystem::create_directories(dir.Path("disk/rings"));
  dir.Write("proc/12/maps", line + "/dev/shm/other.ring.old\n" + line +
                                "/memfd:" + dir.Path("disk/rings/d.ring") + " (deleted)\n" + line +
                                "/memfd:" + dir.Path("removed/rings/e.ring") + " (deleted)\n");
  EXPECT_THAT(RunDirectories(ProcSource(dir.path()), JobOf({10, 11, 12, 13})),
              ElementsAre(dir.Path("disk"), dir.Path("elsewhere"), dir.Path("run")));
}

TEST(AttachRecords, WritesOnlyToPipes) {
  const TemporaryDirectory dir;
  const std::string file = dir.Write("pipe0.pipe", "unchanged");
  const std::string process = "proc/" + std::to_string(getpid());
  dir.Write(process + "/environ",
            "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=" + dir.Path("pipe") + std::string(1, '\0'));
  std::vector<std::string> notes;
  CopyFlightRecorderDumps(ProcSource(dir.path()), JobOf({getpid()}), dir.path(),
                          std::chrono::milliseconds(0), &notes);
  EXPECT_THAT(notes, ElementsAre("Flight Recorder of rank 0: " + file + " is not a pipe"));
  EXPECT_EQ(std::filesystem::file_size(file), std::string("unchanged").size());
}

TEST(AttachRecords, NamesRankThatAcceptsNoRequest) {
  const TemporaryDirectory dir;
  dir.Write("proc/10/environ", "A=1");
  std::vector<std::string> notes;
  CopyFlightRecorderDumps(ProcSource(dir.path()), JobOf({10}), dir.path(),
                          std::chrono::milliseconds(0), &notes);
  EXPECT_THAT(notes,
              ElementsAre("Flight Recorder of rank 0: TORCH_NCCL_DEBUG_INFO_PIPE_FILE is not "
                          "set, and PyTorch takes no request for a dump"));
}

}  // namespace
}  // namespace rollcall::attach
