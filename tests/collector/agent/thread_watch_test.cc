// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/thread_watch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/support/temporary_directory.h"

namespace rollcall::agent {
namespace {

constexpr uint32_t kSerialized = 2;
constexpr uint32_t kMultiple = 3;
constexpr int64_t kMillisecond = 1'000'000;

// A process with three threads, which have used 100, 20 and 3 ns of CPU time.
class ThreadWatchTest : public ::testing::Test {
 protected:
  ThreadWatchTest() {
    SetCpu(42, 100);
    SetCpu(43, 20);
    SetCpu(44, 3);
    sample_.pid = 42;
    sample_.thread_level = kMultiple;
  }

  void SetCpu(int tid, uint64_t ns) {
    directory_.Write("proc/42/task/" + std::to_string(tid) + "/schedstat",
                     std::to_string(ns) + " 0 1\n");
  }
  int64_t CpuOutside() const { return watch_.CpuOutsideNs(proc_, 42, sample_); }

  TemporaryDirectory directory_;
  ProcSource proc_{directory_.path()};
  RingSample sample_;
  ThreadWatch watch_;
};

TEST_F(ThreadWatchTest, ThreadInsideACallIsNotComputing) {
  sample_.blocked = {{.tid = 42}};
  EXPECT_EQ(CpuOutside(), 23);
  sample_.blocked = {{.tid = 42}, {.tid = 44}};
  EXPECT_EQ(CpuOutside(), 20);
}

TEST_F(ThreadWatchTest, NoThreadIsComputingDuringACallBelowThreadMultiple) {
  sample_.thread_level = kSerialized;
  sample_.blocked = {{.tid = 42}};
  EXPECT_EQ(CpuOutside(), 0);
}

TEST_F(ThreadWatchTest, TightPollerIsNotComputingButItsWorkersAre) {
  sample_.thread_level = kSerialized;
  for (int64_t ms = 0; ms <= 2000; ms += 100) {
    sample_.polling = {{.tid = 42, .streak = 1, .polls = static_cast<uint64_t>(ms)}};
    watch_.Sample(proc_, 42, sample_, ms * kMillisecond);
    EXPECT_EQ(CpuOutside(), ms < 1000 ? 123 : 23) << "after " << ms << " ms";
  }
}

TEST_F(ThreadWatchTest, UnrecordedThreadsCountAsCallers) {
  sample_.threads_unrecorded = 1;
  EXPECT_EQ(watch_.SampleOthers(proc_, 42, sample_), OtherThreads::kCallers);
}

TEST_F(ThreadWatchTest, ThreadIdsOfAContainerAreTranslated) {
  sample_.pid = 1;
  sample_.blocked = {{.tid = 1}};
  EXPECT_EQ(CpuOutside(), 0) << "they cannot be read";
  for (const int own : {1, 2, 3}) {
    directory_.Write(fmt::format("proc/42/task/{}/status", 41 + own),
                     fmt::format("Name:\trank\nNSpid:\t{}\t{}\n", 41 + own, own));
  }
  EXPECT_EQ(CpuOutside(), 23);
  sample_.thread_level = kSerialized;
  sample_.blocked = {};
  for (int64_t ms = 0; ms <= 2000; ms += 100) {
    sample_.polling = {{.tid = 3, .streak = 1, .polls = static_cast<uint64_t>(ms)}};
    watch_.Sample(proc_, 42, sample_, ms * kMillisecond);
  }
  EXPECT_EQ(CpuOutside(), 120) << "thread 44, its third, polls tightly";
}

}  // namespace
}  // namespace rollcall::agent
