#include "collector/base/process_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

class ProcessTableTest : public ::testing::Test {
 protected:
  // In /proc of this test: `own` is its number in a pid namespace of its own.
  void AddProcess(int pid, int own, uint64_t start_ticks, const std::string& ring) {
    const std::string directory = fmt::format("{}/proc/{}", root_.path(), pid);
    std::filesystem::create_directories(directory);
    std::ofstream(directory + "/stat") << fmt::format(
        "{} (python3) S 1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 {} 1 1", pid, start_ticks);
    std::ofstream(directory + "/status")
        << fmt::format("Name:\tpython3\nNSpid:\t{}{}\nVmPeak:\t1 kB\n", pid,
                       own == pid ? "" : fmt::format("\t{}", own));
    if (ring.empty()) return;
    std::ofstream(directory + "/maps")
        << "7f0000000000-7f0000400000 rw-s 00000000 00:1b 7   /dev/shm/run/rings/" << ring << "\n";
  }
  pid_t Find(uint32_t own_pid, uint64_t start_ticks, const std::string& ring = "") {
    return ProcessTable(ProcSource(root_.path())).Find(own_pid, start_ticks, ring);
  }

  TemporaryDirectory root_;
};

TEST_F(ProcessTableTest, AProcessOfThisNamespaceIsItsNumber) {
  AddProcess(40, 40, 700, "");
  EXPECT_EQ(Find(40, 700), 40);
  EXPECT_EQ(Find(40, 701), 0) << "its number was used again";
  EXPECT_EQ(Find(41, 700), 0);
  EXPECT_EQ(Find(0, 0), 0);
}

// Three containers that started in one tick of the clock.
TEST_F(ProcessTableTest, OfSeveralThatAreNumberOneItIsTheOneWithTheRing) {
  AddProcess(1, 1, 1, "");
  AddProcess(40, 1, 700, "a.ring");
  AddProcess(41, 1, 700, "b.ring");
  AddProcess(42, 2, 700, "c.ring");
  AddProcess(43, 1, 701, "d.ring");
  EXPECT_EQ(Find(1, 700, "a.ring"), 40);
  EXPECT_EQ(Find(1, 700, "b.ring"), 41);
  EXPECT_EQ(Find(2, 700, "c.ring"), 42);
  EXPECT_EQ(Find(1, 701, "d.ring"), 43);
}

// The maps of another user's process cannot be read.
TEST_F(ProcessTableTest, TheOnlyOneNeedsNoRing) {
  AddProcess(40, 1, 700, "");
  EXPECT_EQ(Find(1, 700, "a.ring"), 40);
}

TEST(ProcessTable, FindsThisProcess) {
  EXPECT_EQ(ProcessTable().Find(static_cast<uint32_t>(getpid()), ProcessStartTicks(getpid()), ""),
            getpid());
  EXPECT_NE(OwnPidNamespace(), 0u);
}

}  // namespace
}  // namespace rollcall
