// SPDX-License-Identifier: Apache-2.0
#include "collector/live/process_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "collector/live/activity.h"
#include "collector/live/cgroup_memory.h"
#include "tests/collector/live/live_child.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_program.h"

namespace rollcall {
namespace {

using ::testing::HasSubstr;
using testing::LiveChild;

std::string StatLine(const std::string& name, char state, int user_ticks, int system_ticks,
                     int start_ticks) {
  return "42 (" + name + ") " + state + " 7 42 42 0 -1 0 0 0 0 0 " + std::to_string(user_ticks) +
         " " + std::to_string(system_ticks) + " 0 0 20 0 2 0 " + std::to_string(start_ticks) +
         " 0 0\n";
}

TEST(ProcessStateTest, ReadsEveryField) {
  const TemporaryDirectory dir;
  const uint64_t tick = 1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  dir.Write("proc/42/stat", StatLine("a) S (b", 'D', 300, 200, 5555));
  dir.Write("proc/42/status", "Name:\tx\nState:\tD\nTracerPid:\t17\nUid:\t0\n");
  dir.Write("proc/42/task/42/stat", StatLine("a) S (b", 'D', 100, 50, 5555));
  dir.Write("proc/42/task/42/wchan", "nfs_wait_bit");
  dir.Write("proc/42/task/42/syscall", "0 0x3 0x7f00 0x1 0x0 0x0 0x0 0x7ffd10 0x401000\n");
  dir.Write("proc/42/task/43/stat", StatLine("worker", 'R', 200, 150, 5556));
  dir.Write("proc/42/task/43/schedstat", "123456789 5 6\n");
  dir.Write("proc/42/task/43/wchan", "0");
  dir.Write("proc/42/task/43/syscall", "running\n");
  const auto process = ReadProcessState(ProcSource(dir.path()), 42, 5555);
  ASSERT_TRUE(process) << process.error();
  EXPECT_EQ(process->name, "a) S (b");
  EXPECT_EQ(process->state, RunState::kDiskWait);
  EXPECT_EQ(process->parent_pid, 7);
  EXPECT_EQ(process->tracer_pid, 17);
  EXPECT_EQ(process->user_ns, 300 * tick);
  EXPECT_EQ(process->system_ns, 200 * tick);
  EXPECT_EQ(process->start_ticks, 5555U);
  ASSERT_EQ(process->threads.size(), 2U);
  const ThreadState& main = process->threads[0];
  EXPECT_EQ(main.cpu_ns, 150 * tick);
  EXPECT_EQ(main.wchan, "nfs_wait_bit");
  ASSERT_TRUE(main.blocked_call);
  EXPECT_EQ(main.blocked_call->number, 0);
  EXPECT_EQ(main.blocked_call->arguments[0], 3U);
  EXPECT_EQ(main.blocked_call->stack_pointer, 0x7ffd10U);
  EXPECT_EQ(main.blocked_call->program_counter, 0x401000U);
  const ThreadState& worker = process->threads[1];
  EXPECT_EQ(worker.name, "worker");
  EXPECT_EQ(worker.state, RunState::kRunning);
  EXPECT_EQ(worker.cpu_ns, 123456789U);
  const auto times = ReadThreadTimes(ProcSource(dir.path()), 42, 43);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->cpu_ns, 123456789U);
  EXPECT_EQ(times->wait_ns, 5U);
  EXPECT_EQ(worker.wchan, "");
  EXPECT_FALSE(worker.blocked_call);
}

TEST(ProcessStateTest, AddsBytesReadAndWritten) {
  const TemporaryDirectory dir;
  const ProcSource proc(dir.path());
  EXPECT_FALSE(ReadIoBytes(proc, 42));
  dir.Write("proc/42/io", "rchar: 300\nwchar: 20\nsyscr: 7\n");
  EXPECT_EQ(ReadIoBytes(proc, 42), 320U);
  dir.Write("proc/42/io", "rchar: 300\n");
  EXPECT_FALSE(ReadIoBytes(proc, 42));
}

TEST(ProcessStateTest, ReportsWhyTheStateIsUnknown) {
  const TemporaryDirectory dir;
  dir.Write("proc/42/stat", StatLine("x", 'S', 0, 0, 5555));
  dir.Write("proc/43/stat", "nonsense");
  std::filesystem::create_directories(dir.Path("proc/42/task"));
  const ProcSource proc(dir.path());
  EXPECT_TRUE(ReadProcessState(proc, 42, 0));
  EXPECT_THAT(ReadProcessState(proc, 42, 5556).error(), HasSubstr("another process now"));
  EXPECT_THAT(ReadProcessState(proc, 44, 0).error(), HasSubstr("is gone"));
  EXPECT_THAT(ReadProcessState(proc, 43, 0).error(), HasSubstr("not as expected"));
}

TEST(ProcessStateTest, TruncatedAndMalformedFilesAreSafe) {
  const std::string stat = StatLine("name", 'S', 1, 2, 3);
  const std::string syscall = "0 0x3 0x7f00 0x1 0x0 0x0 0x0 0x7ffd10 0x401000";
  for (size_t length = 0; length <= std::max(stat.size(), syscall.size()); ++length) {
    const TemporaryDirectory dir;
    dir.Write("proc/42/stat", stat);
    dir.Write("proc/42/task/42/stat", stat.substr(0, length));
    dir.Write("proc/42/task/42/syscall", syscall.substr(0, length));
    const auto process = ReadProcessState(ProcSource(dir.path()), 42, 0);
    ASSERT_TRUE(process);
    EXPECT_LE(process->threads.size(), length < 20 ? 0U : 1U);
  }
}

TEST(ProcessStateTest, DescribesAChildBlockedInRead) {
  LiveChild child([](LiveChild& self) {
    prctl(PR_SET_NAME, "reader");
    self.BlockInRead();
    return 7;
  });
  const ProcessState state = child.WaitUntilBlockedIn(SYS_read);
  EXPECT_EQ(state.parent_pid, getpid());
  EXPECT_EQ(state.tracer_pid, 0);
  EXPECT_EQ(state.threads[0].name, "reader");
  // ThreadSanitizer adds a thread to every child, which may use the most CPU time.
  const pid_t of = kThreadSanitizer ? child.pid() : 0;
  const ThreadActivity activity = Summarize(state, child.WaitUntilBlockedIn(SYS_read), of);
  EXPECT_EQ(activity.activity_level, ActivityLevel::kWaiting);
  EXPECT_EQ(activity.syscall, "read");
  EXPECT_EQ(activity.tid, child.pid());
  child.LetGo();
  EXPECT_EQ(child.WaitForExit(), 7);
}

TEST(ProcessStateTest, SpinningStoppedAndEndedChild) {
  LiveChild child([](LiveChild& self) {
    self.Tell('s');
    volatile unsigned turns = 0;
    for (;;) turns = turns + 1;
    return 0;
  });
  EXPECT_EQ(child.Hear(), 's');
  const ProcessState first = child.WaitForState(RunState::kRunning);
  // Its CPU time grows although it makes no system calls.
  const ProcessState second = child.WaitFor([&](const ProcessState& now) {
    return !now.threads.empty() && now.threads[0].cpu_ns > first.threads[0].cpu_ns + 20'000'000;
  });
  const ThreadActivity activity = Summarize(first, second, child.pid());
  EXPECT_EQ(activity.cpu_ns, second.threads[0].cpu_ns - first.threads[0].cpu_ns);
  EXPECT_EQ(activity.interval_ns, second.sampled_ns - first.sampled_ns);
  // Its share of the CPU time depends on the load of the machine.
  EXPECT_TRUE(activity.activity_level == ActivityLevel::kSpinning ||
              activity.activity_level == ActivityLevel::kBusy);
  ASSERT_EQ(kill(child.pid(), SIGSTOP), 0);
  EXPECT_EQ(Summarize(first, child.WaitForState(RunState::kStopped), 0).activity_level,
            ActivityLevel::kStopped);
  ASSERT_EQ(kill(child.pid(), SIGKILL), 0);
  EXPECT_EQ(Summarize(first, child.WaitForState(RunState::kZombie), 0).activity_level,
            ActivityLevel::kEnded);
}

ProcessState Sample(uint64_t at_ns, const std::vector<std::pair<pid_t, uint64_t>>& cpu_ns) {
  ProcessState process;
  process.pid = 42;
  process.start_ticks = 5;
  process.sampled_ns = at_ns;
  for (const auto& [tid, cpu] : cpu_ns) {
    ThreadState thread;
    thread.tid = tid;
    thread.state = RunState::kRunning;
    thread.cpu_ns = cpu;
    process.threads.push_back(thread);
  }
  return process;
}

TEST(ActivityTest, ReportsTheBusiestThreadAndItsUseOfTheProcessor) {
  const ProcessState before = Sample(1000, {{42, 10}, {43, 500}});
  EXPECT_EQ(Summarize(before, Sample(2000, {{42, 20}, {43, 1500}}), 0).tid, 43);
  EXPECT_EQ(Summarize(before, Sample(2000, {{42, 20}, {43, 1500}}), 0).activity_level,
            ActivityLevel::kSpinning);
  EXPECT_EQ(Summarize(before, Sample(2000, {{42, 20}, {43, 1500}}), 42).activity_level,
            ActivityLevel::kWaiting);
  EXPECT_EQ(Summarize(before, Sample(2000, {{42, 20}, {43, 700}}), 0).activity_level,
            ActivityLevel::kBusy);
  EXPECT_EQ(Summarize(before, Sample(2000, {{41, 0}, {42, 10}}), 0).tid, 42);
  // The CPU time of a thread that started between the samples counts from zero.
  EXPECT_EQ(Summarize(before, Sample(2000, {{42, 10}, {99, 900}}), 0).cpu_ns, 900U);
  ProcessState other = Sample(2000, {{42, 20}});
  other.start_ticks = 6;
  EXPECT_EQ(Summarize(before, other, 0).activity_level, ActivityLevel::kUnknown);
}

TEST(CgroupMemoryTest, ReadsTheCounterOfVersionTwo) {
  const TemporaryDirectory dir;
  dir.Write("proc/42/cgroup", "0::/job/step\n");
  dir.Write("proc/self/mountinfo",
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
  dir.Write("sys/fs/cgroup/job/step/memory.events", "low 0\nhigh 0\nmax 3\noom 2\noom_kill 1\n");
  const ProcSource proc(dir.path());
  const std::string path = OomCounterPath(proc, 42);
  EXPECT_EQ(path, "/sys/fs/cgroup/job/step/memory.events");
  EXPECT_EQ(ReadOomKills(proc, path), 1U);
  // The counter can still be read when the process no longer exists.
  std::filesystem::remove_all(dir.Path("proc/42"));
  EXPECT_EQ(ReadOomKills(proc, path), 1U);
  EXPECT_EQ(OomCounterPath(proc, 42), "");
}

TEST(CgroupMemoryTest, VersionOneMountedInAContainer) {
  const TemporaryDirectory dir;
  dir.Write("proc/42/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n");
  dir.Write("proc/self/mountinfo",
            "40 30 0:30 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n"
            "41 30 0:31 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  dir.Write("sys/fs/cgroup/memory/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  const ProcSource proc(dir.path());
  EXPECT_EQ(ReadOomKills(proc, OomCounterPath(proc, 42)), 4U);
}

TEST(CgroupMemoryTest, HasNoCounterIfNoCgroupIsMounted) {
  const TemporaryDirectory dir;
  dir.Write("proc/42/cgroup", "4:memory:/a\n0::/../b\ngarbage\n");
  dir.Write("proc/self/mountinfo", "1 1 0:1 / / rw - ext4 /dev/sda rw\n\nshort\n");
  const ProcSource proc(dir.path());
  EXPECT_EQ(OomCounterPath(proc, 42), "");
  EXPECT_FALSE(ReadOomKills(proc, ""));
}

}  // namespace
}  // namespace rollcall
