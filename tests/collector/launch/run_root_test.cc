// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/run_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "collector/base/process_table.h"
#include "collector/base/result.h"
#include "tests/support/fake_ring.h"
#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

using ::testing::HasSubstr;

class RunRootTest : public ::testing::Test {
 protected:
  std::string Root() const { return directory_.path() + "/root"; }
  static mode_t ModeOf(const std::string& path) {
    struct stat status;
    return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }

  TemporaryDirectory directory_;
};

TEST_F(RunRootTest, MakesPrivateDirectories) {
  const mode_t before = umask(0);
  const Result<RunDirectory> run = RunRoot::Create(Root());
  umask(before);
  ASSERT_TRUE(run) << run.error();
  EXPECT_EQ(ModeOf(Root()), 0700u);
  EXPECT_EQ(ModeOf(run->path()), 0700u);
  EXPECT_EQ(ModeOf(run->path() + "/rings"), 0700u);
}

TEST_F(RunRootTest, DoesNotFollowLinks) {
  std::filesystem::create_directory(directory_.path() + "/elsewhere");
  std::filesystem::create_symlink("elsewhere", Root());
  EXPECT_THAT(RunRoot::Create(Root()).error(), HasSubstr("link"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path() + "/elsewhere"));
}

TEST_F(RunRootTest, RefusesARootWithAccessForOthers) {
  mkdir(Root().c_str(), 0700);
  chmod(Root().c_str(), 0755);
  EXPECT_THAT(RunRoot::Create(Root()).error(), HasSubstr("0755"));
}

TEST_F(RunRootTest, RefusesARootOfAnotherUser) {
  mkdir(Root().c_str(), 0700);
  if (chown(Root().c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root";
  EXPECT_THAT(RunRoot::Create(Root()).error(), HasSubstr("belongs to user 65534"));
}

TEST_F(RunRootTest, RefusesADirectoryWithOtherThingsInIt) {
  const std::string path = directory_.path() + "/mine";
  mkdir(path.c_str(), 0700);
  std::ofstream(path + "/letter.txt") << "dear";
  EXPECT_FALSE(RunRoot::CreateAt(path));
  EXPECT_FALSE(RunRoot::Remove(path));
  EXPECT_TRUE(std::filesystem::exists(path + "/letter.txt"));
}

TEST_F(RunRootTest, DirectoryAcceptsOneAgent) {
  RunDirectory first = std::move(*RunRoot::Create(Root()));
  Result<RunDirectory> joined = RunRoot::Join(first.path());
  ASSERT_TRUE(joined) << joined.error();
  RunDirectory& second = *joined;
  EXPECT_FALSE(RunRoot::HasAgent(first.path()));
  EXPECT_TRUE(RunRoot::TakeAgentLock(&first));
  EXPECT_FALSE(RunRoot::TakeAgentLock(&second));
  EXPECT_TRUE(RunRoot::HasAgent(second.path()));
  first = {};
  EXPECT_TRUE(RunRoot::TakeAgentLock(&second));
}

TEST_F(RunRootTest, CleanKeepsRunsInUseAndTheNewest) {
  const RunDirectory in_use = std::move(*RunRoot::Create(Root()));
  std::string ended[3];
  for (std::string& path : ended) path = RunRoot::Create(Root())->path();
  const std::string live = RunRoot::Create(Root())->path();
  const agent::FakeRing ring(live + "/rings/a.ring", getpid(), ProcessStartTicks(getpid()), 0, 1);
  EXPECT_EQ(RunRoot::Clean(Root(), 1, INT64_MAX).size(), 2u);
  EXPECT_EQ(RunRoot::Clean(Root(), 0, INT64_MAX).size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(in_use.path()));
  EXPECT_TRUE(std::filesystem::exists(live));
}

TEST_F(RunRootTest, CleanKeepsRunsWhoseRingsAreInMemory) {
  const std::string live = RunRoot::Create(Root())->path();
  const agent::FakeRing ring("", getpid(), ProcessStartTicks(getpid()), 0, 1,
                             live + "/rings/a.ring");
  void* mapping = mmap(nullptr, agent::FakeRing::kEnd, PROT_READ, MAP_SHARED, ring.fd(), 0);
  ASSERT_NE(mapping, MAP_FAILED);
  EXPECT_TRUE(RunRoot::Clean(Root(), 0, INT64_MAX).empty());
  munmap(mapping, agent::FakeRing::kEnd);
  EXPECT_EQ(RunRoot::Clean(Root(), 0, INT64_MAX).size(), 1u);
}

TEST_F(RunRootTest, RemoveDoesNotFollowLinksOutOfTheRun) {
  std::ofstream(directory_.path() + "/precious") << "x";
  const std::string run = RunRoot::Create(Root())->path();
  std::filesystem::create_symlink(directory_.path(), run + "/rings/out");
  EXPECT_TRUE(RunRoot::Remove(run));
  EXPECT_FALSE(std::filesystem::exists(run));
  EXPECT_TRUE(std::filesystem::exists(directory_.path() + "/precious"));
}

TEST_F(RunRootTest, FallsBackWithAReason) {
  const RunRoot::Usable root = RunRoot::UsablePath(directory_.path() + "/missing");
  EXPECT_THAT(root.why, HasSubstr("missing"));
  EXPECT_EQ(root.path.find(directory_.path()), std::string::npos);
  const RunRoot::Usable usable = RunRoot::UsablePath(directory_.path());
  EXPECT_EQ(usable.path, RunRoot::DefaultPath(directory_.path()));
  EXPECT_EQ(usable.why, "");
}

}  // namespace
}  // namespace rollcall
