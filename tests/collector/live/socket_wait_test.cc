// SPDX-License-Identifier: Apache-2.0
#include "collector/live/socket_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace rollcall {
namespace {

namespace fs = std::filesystem;
using For = OutsideWait::For;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr pid_t kServer = 100;

// --- the descriptors of a call -------------------------------------------------------------------

// Has `content` at address 4096.
class ArgumentMemory : public ProcessMemory {
 public:
  explicit ArgumentMemory(std::string content = {})
      : ProcessMemory(0), content_(std::move(content)) {}
  size_t Read(uint64_t address, void* buffer, size_t size) const override {
    if (address < kAt || address - kAt > content_.size()) return 0;
    const size_t bytes = std::min(size, content_.size() - (address - kAt));
    memcpy(buffer, content_.data() + (address - kAt), bytes);
    return bytes;
  }
  static constexpr uint64_t kAt = 4096;

 private:
  std::string content_;
};

ThreadState BlockedIn(int64_t call, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0) {
  ThreadState thread;
  thread.state = RunState::kSleeping;
  thread.blocked_call = BlockedCall{.number = call, .arguments = {a, b, c}};
  return thread;
}

std::vector<int> AwaitedBy(const ThreadState& thread, const std::string& memory = {},
                           const ProcSource& proc = ProcSource("/nowhere")) {
  return AwaitedDescriptors(proc, kServer, ArgumentMemory(memory), thread);
}

template <typename T>
std::string RawBytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

TEST(AwaitedDescriptors, OfCallsOnOne) {
  for (const int64_t call : {SYS_accept, SYS_accept4, SYS_read, SYS_recvfrom, SYS_sendto}) {
    EXPECT_THAT(AwaitedBy(BlockedIn(call, 7)), ElementsAre(7));
  }
}

TEST(AwaitedDescriptors, OfPoll) {
  const pollfd entries[] = {{4, POLLIN, 0}, {-1, POLLIN, 0}, {6, POLLIN, 0}};
  EXPECT_THAT(AwaitedBy(BlockedIn(SYS_ppoll, ArgumentMemory::kAt, 3), RawBytes(entries)),
              ElementsAre(4, 6));
  EXPECT_THAT(AwaitedBy(BlockedIn(SYS_ppoll, ArgumentMemory::kAt, 4), RawBytes(entries)),
              IsEmpty());
  EXPECT_THAT(AwaitedBy(BlockedIn(SYS_ppoll, ArgumentMemory::kAt, 1 << 30), RawBytes(entries)),
              IsEmpty());
}

// A futex that continues looks the same but for the kernel function.
TEST(AwaitedDescriptors, OfPollThatWasInterrupted) {
  const pollfd entries[] = {{4, POLLIN, 0}};
  ThreadState thread = BlockedIn(SYS_restart_syscall, ArgumentMemory::kAt, 1);
  EXPECT_THAT(AwaitedBy(thread, RawBytes(entries)), IsEmpty());
  thread.wchan = "poll_schedule_timeout.constprop.0";
  EXPECT_THAT(AwaitedBy(thread, RawBytes(entries)), ElementsAre(4));
}

TEST(AwaitedDescriptors, OfSelect) {
  fd_set reads;
  fd_set writes;
  FD_ZERO(&reads);
  FD_ZERO(&writes);
  FD_SET(5, &reads);
  FD_SET(9, &writes);
  const ThreadState thread =
      BlockedIn(SYS_pselect6, 10, ArgumentMemory::kAt, ArgumentMemory::kAt + sizeof(reads));
  EXPECT_THAT(AwaitedBy(thread, RawBytes(reads) + RawBytes(writes)), ElementsAre(5, 9));
  EXPECT_THAT(AwaitedBy(thread, RawBytes(reads)), IsEmpty());
}

TEST(AwaitedDescriptors, OfOthersAndOfThreadsThatRun) {
  EXPECT_THAT(AwaitedBy(BlockedIn(SYS_futex, 7)), IsEmpty());
  EXPECT_THAT(AwaitedBy(BlockedIn(SYS_connect, 7)), IsEmpty());
  ThreadState runs = BlockedIn(SYS_read, 7);
  runs.state = RunState::kRunning;
  EXPECT_THAT(AwaitedBy(runs), IsEmpty());
  runs.blocked_call.reset();
  EXPECT_THAT(AwaitedBy(runs), IsEmpty());
}

// --- peers, in a directory that looks like /proc
// --------------------------------------------------

// Descriptor n of the rank is socket n.
class ProcessSocketsTest : public ::testing::Test {
 protected:
  static constexpr const char* kRun = "ROLLCALL_DIR=/dev/shm/run";

  ProcessSocketsTest() {
    root_ = fs::path(::testing::TempDir()) /
            ("socket_wait_" + std::to_string(getpid()) + "_" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    AddProcess(kServer, 1, kRun, {3, 4, 5, 6, 7, 8, 9});
  }
  ~ProcessSocketsTest() override { fs::remove_all(root_); }

  void AddProcess(pid_t pid, pid_t parent, const std::string& environment,
                  const std::vector<int>& sockets, const std::string& network = "net:[1]") {
    const fs::path directory = root_ / "proc" / std::to_string(pid);
    fs::create_directories(directory / "fd");
    fs::create_directories(directory / "net");
    fs::create_directories(directory / "ns");
    std::ofstream(directory / "stat") << pid << " (app) S " << parent << " 1 1";
    std::ofstream(directory / "environ") << environment << '\0';
    fs::create_symlink(network, directory / "ns" / "net");
    for (const int socket : sockets) {
      fs::create_symlink("socket:[" + std::to_string(socket) + "]",
                         directory / "fd" / std::to_string(socket));
    }
  }

  // Port `local` of this host, connected with `remote`; state 01 is established, 0A listens.
  void AddTcp(int inode, const std::string& local, const std::string& remote,
              const std::string& state = "01") {
    tcp_ += "   0: " + local + " " + remote + " " + state +
            " 00000000:00000000 00:00000000 00000000     0        0 " + std::to_string(inode) +
            " 1 0000000000000000 20 4 30 10 -1\n";
  }

  std::optional<For> WaitFor(const std::vector<int>& descriptors, bool all_here = true) const {
    const fs::path net = root_ / "proc" / std::to_string(kServer) / "net";
    std::ofstream(net / "tcp") << "  sl  local_address rem_address   st …\n" << tcp_;
    std::ofstream(net / "tcp6") << "  sl  local_address rem_address   st …\n" << tcp6_;
    std::ofstream(net / "unix") << "Num       RefCount Protocol Flags    Type St Inode Path\n"
                                << unix_;
    return ProcessSockets(ProcSource(root_), kServer, all_here).WaitFor(descriptors);
  }

  // Socket 3 of the rank is connected with a socket of this host.
  void ConnectWith(int inode) {
    AddTcp(3, "0100007F:1F90", "0100007F:C000");
    AddTcp(inode, "0100007F:C000", "0100007F:1F90");
  }

  fs::path root_;
  std::string tcp_;
  std::string tcp6_;
  std::string unix_;
};

TEST_F(ProcessSocketsTest, ListeningSocketIsForClients) {
  AddTcp(3, "0100007F:1F90", "00000000:0000", "0A");
  EXPECT_EQ(WaitFor({3}), For::kClient);
}

TEST_F(ProcessSocketsTest, ListeningUnixSocketIsForClients) {
  unix_ = "0000000000000000: 00000002 00000000 00010000 0001 01 3 /run/x.sock\n";
  EXPECT_EQ(WaitFor({3}), For::kClient);
}

TEST_F(ProcessSocketsTest, PeerInAnotherProgramIsOutside) {
  AddProcess(200, 1, "HOME=/root", {20});
  ConnectWith(20);
  EXPECT_EQ(WaitFor({3}), For::kOutside);
  EXPECT_EQ(WaitFor({3}, /*all_here=*/false), For::kOutside);
}

TEST_F(ProcessSocketsTest, PeerOfTheRunIsNot) {
  AddProcess(101, 1, kRun, {20});
  ConnectWith(20);
  EXPECT_EQ(WaitFor({3}), std::nullopt);
}

TEST_F(ProcessSocketsTest, PeerOfAnotherRunIs) {
  AddProcess(101, 1, "ROLLCALL_DIR=/dev/shm/other", {20});
  ConnectWith(20);
  EXPECT_EQ(WaitFor({3}), For::kOutside);
}

TEST_F(ProcessSocketsTest, PeerInAChildIsNot) {
  AddProcess(300, kServer, "", {});
  AddProcess(301, 300, "HOME=/root", {20});
  ConnectWith(20);
  EXPECT_EQ(WaitFor({3}), std::nullopt);
}

TEST_F(ProcessSocketsTest, ConnectionWithItselfDoesNotMatter) {
  ConnectWith(4);
  EXPECT_EQ(WaitFor({3}), std::nullopt);
  AddTcp(5, "0100007F:1F91", "00000000:0000", "0A");
  EXPECT_EQ(WaitFor({3, 5}), For::kClient);
}

TEST_F(ProcessSocketsTest, PeerThatHasNotBeenAcceptedIsUnknown) {
  ConnectWith(0);
  EXPECT_EQ(WaitFor({3}), std::nullopt);
}

TEST_F(ProcessSocketsTest, OneRankAmongThePeersIsEnough) {
  AddProcess(101, 1, kRun, {20});
  ConnectWith(20);
  AddTcp(5, "0100007F:1F91", "00000000:0000", "0A");
  EXPECT_EQ(WaitFor({5, 3}), std::nullopt);
}

TEST_F(ProcessSocketsTest, PeerOnAnotherHostIsOutsideIfAllRanksAreHere) {
  AddTcp(3, "0200000A:1F90", "0300000A:C000");
  EXPECT_EQ(WaitFor({3}), For::kOutside);
  EXPECT_EQ(WaitFor({3}, /*all_here=*/false), std::nullopt);
}

// Its peer is not in the table of the rank's network.
TEST_F(ProcessSocketsTest, PeerIsUnknownIfAProcessOfTheRunIsInAnotherNetwork) {
  AddProcess(101, 1, kRun, {20}, "net:[2]");
  AddTcp(3, "0200000A:1F90", "0300000A:C000");
  EXPECT_EQ(WaitFor({3}), std::nullopt);
}

TEST_F(ProcessSocketsTest, LoopbackPeerThatIsNotThereIsUnknown) {
  AddTcp(3, "0100007F:1F90", "0100007F:C000");
  EXPECT_EQ(WaitFor({3}), std::nullopt);
}

TEST_F(ProcessSocketsTest, ServerOfIPv6HasClientsOfIPv4) {
  AddProcess(200, 1, "HOME=/root", {20});
  AddTcp(3, "0000000000000000FFFF00000100007F:1F90", "0000000000000000FFFF00000100007F:C000");
  tcp6_.swap(tcp_);
  AddTcp(20, "0100007F:C000", "0100007F:1F90");
  EXPECT_EQ(WaitFor({3}), For::kOutside);
}

TEST_F(ProcessSocketsTest, UnknownSocketsAndConnectionsThatAreNotMadeDecideNothing) {
  AddTcp(5, "0100007F:1F91", "00000000:0000", "0A");
  EXPECT_EQ(WaitFor({5, 9}), std::nullopt) << "of datagrams, say";
  AddTcp(3, "0200000A:1F90", "0300000A:C000", "02");
  EXPECT_EQ(WaitFor({3}), std::nullopt) << "in connect()";
}

TEST_F(ProcessSocketsTest, OtherDescriptorsDoNotMatter) {
  fs::create_symlink("anon_inode:[eventfd]",
                     root_ / "proc" / std::to_string(kServer) / "fd" / "30");
  EXPECT_EQ(WaitFor({30}), std::nullopt);
  AddTcp(5, "0100007F:1F91", "00000000:0000", "0A");
  EXPECT_EQ(WaitFor({30, 5}), For::kClient);
}

TEST_F(ProcessSocketsTest, WithoutARunDirectoryNobodyIsOutside) {
  std::ofstream(root_ / "proc" / std::to_string(kServer) / "environ") << "HOME=/root" << '\0';
  AddProcess(200, 1, "HOME=/root", {20});
  ConnectWith(20);
  EXPECT_EQ(WaitFor({3}), std::nullopt);
}

TEST_F(ProcessSocketsTest, DescriptorsOfAnEpoll) {
  const fs::path directory = root_ / "proc" / std::to_string(kServer) / "fdinfo";
  fs::create_directories(directory);
  std::ofstream(directory / "12") << "pos:\t0\nflags:\t02\n"
                                     "tfd:        5 events:       19 data:                5\n"
                                     "tfd:        8 events:       19 data:                8\n";
  EXPECT_THAT(AwaitedBy(BlockedIn(SYS_epoll_pwait, 12), {}, ProcSource(root_)), ElementsAre(5, 8));
}

}  // namespace
}  // namespace rollcall
