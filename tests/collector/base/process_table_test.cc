// SPDX-License-Identifier: Apache-2.0
#include "collector/base/process_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

constexpr uint64_t kHere = 7;  // an agent in a container of its own

class ProcessTableTest : public ::testing::Test {
 protected:
  // Adds a process to the test's /proc. `own` is its pid in the pid namespace `name_space`. If
  // `name_space` is empty, the namespace of the process cannot be read.
  void AddProcess(int pid, int own, uint64_t start_ticks, const std::string& name_space) {
    const std::string path = fmt::format("proc/{}/", pid);
    root_.Write(path + "stat",
                fmt::format("{} (python3) S 1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 {} 1 1",
                            pid, start_ticks));
    root_.Write(path + "status",
                fmt::format("Name:\tpython3\nNSpid:\t{}\t{}\nVmPeak:\t1 kB\n", pid, own));
    if (name_space.empty()) return;
    Inode(name_space);
    std::filesystem::create_directories(root_.path() + "/" + path + "ns");
    std::filesystem::create_hard_link(root_.path() + "/" + name_space,
                                      root_.path() + "/" + path + "ns/pid");
  }
  uint64_t Inode(const std::string& name_space) {
    const std::string path = root_.path() + "/" + name_space;
    struct stat info;
    if (stat(path.c_str(), &info) != 0) root_.Write(name_space, "");
    return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
  }
  // "40", "gone" or "hidden". `from`: the namespace of the observer.
  std::string Find(uint32_t own_pid, uint64_t start_ticks, uint64_t name_space,
                   uint64_t from = kInitialPidNamespace) {
    ProcessTable table(ProcSource(root_.path()), from);
    const ProcessTable::Result result = table.Find({own_pid, start_ticks, name_space});
    if (result.life == ProcessTable::Life::kFound) return std::to_string(result.pid);
    EXPECT_EQ(result.pid, 0);
    return result.life == ProcessTable::Life::kGone ? "gone" : "hidden";
  }

  TemporaryDirectory root_;
};

TEST_F(ProcessTableTest, FindsProcessesOfTheOwnNamespaceByPid) {
  AddProcess(40, 40, 700, "");
  for (const uint64_t name_space : {kHere, uint64_t{0}}) {
    EXPECT_EQ(Find(40, 700, name_space, kHere), "40");
    EXPECT_EQ(Find(40, 701, name_space, kHere), "gone") << "its number was used again";
    EXPECT_EQ(Find(41, 700, name_space, kHere), "gone");
  }
  EXPECT_EQ(Find(0, 0, kHere, kHere), "gone");
}

// Three containers that started in one tick of the clock.
TEST_F(ProcessTableTest, DistinguishesEqualPidsByNamespace) {
  AddProcess(1, 1, 1, "host");
  AddProcess(40, 1, 700, "a");
  AddProcess(41, 1, 700, "b");
  AddProcess(42, 2, 700, "c");
  EXPECT_EQ(Find(1, 700, Inode("a")), "40");
  EXPECT_EQ(Find(1, 700, Inode("b")), "41");
  EXPECT_EQ(Find(2, 700, Inode("c")), "42");
  EXPECT_EQ(Find(1, 700, Inode("ended")), "gone") << "nobody else's is its";
  EXPECT_EQ(Find(1, 700, Inode("ended"), kHere), "hidden");
}

// The agent is in the container of a rank. That rank is process 1 in its container, as the others
// are in theirs.
TEST_F(ProcessTableTest, DoesNotConfuseNeighbourWithHiddenProcess) {
  AddProcess(1, 1, 700, "mine");
  EXPECT_EQ(Find(1, 700, Inode("mine"), Inode("mine")), "1");
  EXPECT_EQ(Find(1, 700, Inode("other"), Inode("mine")), "hidden");
}

// For example, the namespace of another user's process.
TEST_F(ProcessTableTest, ProcessIsHiddenIfACandidatesNamespaceIsUnreadable) {
  AddProcess(40, 1, 700, "");
  EXPECT_EQ(Find(1, 700, Inode("a")), "hidden");
}

// Rings before version 1.7 do not record the namespace.
TEST_F(ProcessTableTest, ProcessWithoutNamespaceNeedsASingleCandidate) {
  AddProcess(40, 1, 700, "a");
  EXPECT_EQ(Find(1, 700, 0), "40");
  AddProcess(41, 1, 700, "b");
  EXPECT_EQ(Find(1, 700, 0), "hidden");
}

TEST(ProcessTable, FindsThisProcess) {
  const auto pid = static_cast<uint32_t>(getpid());
  EXPECT_NE(OwnPidNamespace(), 0u);
  EXPECT_EQ(ProcessTable().Find({pid, ProcessStartTicks(getpid()), OwnPidNamespace()}).pid,
            getpid());
}

}  // namespace
}  // namespace rollcall
