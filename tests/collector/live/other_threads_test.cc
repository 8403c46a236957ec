// SPDX-License-Identifier: Apache-2.0
#include "collector/live/other_threads.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <thread>

#include "collector/live/thread_starts.h"

namespace rollcall {
namespace {

constexpr uint64_t kPrivateWait = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
constexpr uint64_t kSharedWait = FUTEX_WAIT_BITSET;

class FakeEvidence : public ThreadEvidence {
 public:
  std::string StartModule(pid_t tid) override { return starts[tid]; }
  std::optional<uint32_t> Word(uint64_t address) override {
    const auto word = words.find(address);
    return word == words.end() ? std::nullopt : std::optional(word->second);
  }
  std::map<pid_t, std::string> starts;
  std::map<uint64_t, uint32_t> words;
};

ThreadState Running(pid_t tid) {
  ThreadState thread;
  thread.tid = tid;
  thread.state = RunState::kRunning;
  return thread;
}

ThreadState In(pid_t tid, int64_t call, std::array<uint64_t, 6> arguments) {
  ThreadState thread;
  thread.tid = tid;
  thread.state = RunState::kSleeping;
  thread.blocked_call.emplace();
  thread.blocked_call->number = call;
  thread.blocked_call->arguments = arguments;
  return thread;
}

ThreadState InFutex(pid_t tid, uint64_t operation, uint64_t timeout = 0) {
  return In(tid, SYS_futex, {0x1000, operation, 0, timeout, 0, 0});
}

ProcessState Of(std::vector<ThreadState> threads) {
  ProcessState process;
  process.pid = 10;
  process.threads = std::move(threads);
  return process;
}

// Thread 10 is inside MPI_Recv.
OtherThreads JudgeBeside(const ThreadState& other, std::set<pid_t> called = {10},
                         FakeEvidence evidence = {}) {
  const ProcessState process = Of({Running(10), other});
  return JudgeOtherThreads(process, process, {.waiting = {10}, .called = std::move(called)},
                           &evidence);
}

TEST(OtherThreadsTest, NoOtherThreadExists) {
  FakeEvidence evidence;
  const ProcessState process = Of({Running(10)});
  EXPECT_EQ(JudgeOtherThreads(process, process, {.waiting = {10}, .called = {10}}, &evidence),
            OtherThreads::kWait);
}

TEST(OtherThreadsTest, ConditionVariableWithoutTimeoutWaits) {
  EXPECT_EQ(JudgeBeside(InFutex(11, kPrivateWait)), OtherThreads::kWait);
  EXPECT_EQ(JudgeBeside(InFutex(11, kPrivateWait), {10, 11}), OtherThreads::kWait);
}

TEST(OtherThreadsTest, ConditionVariableWithTimeoutMayAct) {
  EXPECT_EQ(JudgeBeside(InFutex(11, kPrivateWait, 0x7ffe0000)), OtherThreads::kOutside);
}

TEST(OtherThreadsTest, FutexSharedWithOtherProcessesMayAct) {
  EXPECT_EQ(JudgeBeside(InFutex(11, kSharedWait)), OtherThreads::kOutside);
}

TEST(OtherThreadsTest, MutexHeldByAnotherThreadWaits) {
  EXPECT_EQ(JudgeBeside(InFutex(11, FUTEX_WAIT | FUTEX_PRIVATE_FLAG)), OtherThreads::kWait);
}

// FUTEX_LOCK_PI waits for a thread that this code cannot determine, and FUTEX_WAKE ends by itself.
TEST(OtherThreadsTest, FutexCallThatDoesNotWaitMayAct) {
  for (const uint64_t operation : {FUTEX_WAKE, FUTEX_LOCK_PI, FUTEX_CMP_REQUEUE}) {
    EXPECT_EQ(JudgeBeside(InFutex(11, operation | FUTEX_PRIVATE_FLAG)), OtherThreads::kOutside);
  }
}

TEST(OtherThreadsTest, AnotherSystemCallWithTheSameArgumentsMayAct) {
  EXPECT_EQ(JudgeBeside(In(11, SYS_ppoll, {0x1000, kPrivateWait, 0, 0, 0, 0})),
            OtherThreads::kOutside);
}

TEST(OtherThreadsTest, ThreadWithAnotherFutexInTheSecondSampleMayAct) {
  FakeEvidence evidence;
  const ProcessState first = Of({Running(10), InFutex(11, kPrivateWait)});
  ProcessState second = first;
  second.threads[1].blocked_call->arguments[0] = 0x2000;
  EXPECT_EQ(JudgeOtherThreads(first, second, {.waiting = {10}, .called = {10}}, &evidence),
            OtherThreads::kOutside);
}

TEST(OtherThreadsTest, ThreadThatHasEndedCannotAct) {
  for (const RunState state : {RunState::kZombie, RunState::kDead}) {
    ThreadState ended = Running(11);
    ended.state = state;
    EXPECT_EQ(JudgeBeside(ended, {10, 11}), OtherThreads::kWait);
  }
}

TEST(OtherThreadsTest, UnreadableThreadDoesNotHideOneThatMayAct) {
  ThreadState hidden;
  hidden.tid = 11;
  hidden.state = RunState::kSleeping;
  FakeEvidence evidence;
  for (const std::vector<ThreadState>& threads : {std::vector{Running(10), hidden, Running(12)},
                                                  std::vector{Running(10), Running(12), hidden}}) {
    const ProcessState process = Of(threads);
    EXPECT_EQ(
        JudgeOtherThreads(process, process, {.waiting = {10}, .called = {10, 11, 12}}, &evidence),
        OtherThreads::kCallers);
  }
}

// A futex word with the waiting thread's own id does not belong to a join.
TEST(OtherThreadsTest, SharedFutexWithTheThreadsOwnIdMayAct) {
  FakeEvidence evidence;
  evidence.words[0x1000] = 11;
  EXPECT_EQ(JudgeBeside(InFutex(11, kSharedWait), {10}, evidence), OtherThreads::kOutside);
}

TEST(OtherThreadsTest, JoiningAnotherThreadOfTheProcessWaits) {
  FakeEvidence evidence;
  evidence.words[0x1000] = 10;
  EXPECT_EQ(JudgeBeside(InFutex(11, kSharedWait), {10, 11}, evidence), OtherThreads::kWait);
  evidence.words[0x1000] = 99;
  EXPECT_EQ(JudgeBeside(InFutex(11, kSharedWait), {10, 11}, evidence), OtherThreads::kCallers);
}

TEST(OtherThreadsTest, RunningOrSleepingThreadMayAct) {
  EXPECT_EQ(JudgeBeside(Running(11)), OtherThreads::kOutside);
  EXPECT_EQ(JudgeBeside(In(11, SYS_clock_nanosleep, {})), OtherThreads::kOutside);
}

TEST(OtherThreadsTest, ThreadThatCalledMpiMayCallAgain) {
  EXPECT_EQ(JudgeBeside(Running(11), {10, 11}), OtherThreads::kCallers);
  EXPECT_EQ(JudgeBeside(In(11, SYS_clock_nanosleep, {}), {10, 11}), OtherThreads::kCallers);
}

TEST(OtherThreadsTest, ThreadsOfTheMpiLibraryMakeNoCalls) {
  FakeEvidence evidence;
  evidence.starts[11] = "/usr/lib/x86_64-linux-gnu/libopen-pal.so.40.30.2";
  EXPECT_EQ(JudgeBeside(In(11, SYS_epoll_wait, {}), {10}, evidence), OtherThreads::kWait);
  evidence.starts[11] = "/home/user/libmodel.so";
  EXPECT_EQ(JudgeBeside(In(11, SYS_epoll_wait, {}), {10}, evidence), OtherThreads::kOutside);
}

TEST(OtherThreadsTest, ThreadWithoutReadPermissionIsUnknown) {
  ThreadState hidden;
  hidden.tid = 11;
  hidden.state = RunState::kSleeping;
  EXPECT_EQ(JudgeBeside(hidden), OtherThreads::kUnseen);
  EXPECT_EQ(JudgeBeside(hidden, {10, 11}), OtherThreads::kUnseen);
}

TEST(OtherThreadsTest, ThreadThatRanBetweenTheSamplesMayAct) {
  FakeEvidence evidence;
  const ProcessState first = Of({Running(10), InFutex(11, kPrivateWait)});
  ProcessState second = first;
  second.threads[1].cpu_ns = 1;
  EXPECT_EQ(JudgeOtherThreads(first, second, {.waiting = {10}, .called = {10}}, &evidence),
            OtherThreads::kOutside);
  second = first;
  second.threads.push_back(InFutex(12, kPrivateWait));
  EXPECT_EQ(JudgeOtherThreads(first, second, {.waiting = {10}, .called = {10}}, &evidence),
            OtherThreads::kOutside);
}

// A thread of this process that waits for a semaphore until the test ends.
class Waiter {
 public:
  Waiter() {
    sem_init(&go_, 0, 0);
    sem_init(&ready_, 0, 0);
    thread_ = std::thread([this] {
      tid_ = static_cast<pid_t>(syscall(SYS_gettid));
      sem_post(&ready_);
      while (sem_wait(&go_) != 0) {
      }
    });
    while (sem_wait(&ready_) != 0) {
    }
  }
  ~Waiter() {
    sem_post(&go_);
    thread_.join();
  }
  pid_t tid() const { return tid_; }

 private:
  sem_t go_ = {};
  sem_t ready_ = {};
  pid_t tid_ = 0;
  std::thread thread_;
};

TEST(OtherThreadsTest, SeesAThreadOfThisProcessWait) {
  const Waiter waiter;
  std::set<pid_t> others;  // a sanitizer may have a thread of its own
  const ProcSource proc;
  const auto state = ReadProcessState(proc, getpid(), 0);
  ASSERT_TRUE(state) << state.error();
  for (const ThreadState& thread : state->threads) {
    if (thread.tid != waiter.tid()) others.insert(thread.tid);
  }
  // The thread may not have begun to wait yet.
  OtherThreads seen = OtherThreads::kUnseen;
  for (int i = 0; i < 10'000 && seen != OtherThreads::kWait; ++i) {
    seen = SampleOtherThreads(proc, getpid(), static_cast<uint32_t>(getpid()), 0,
                              {.waiting = others, .called = {}});
  }
  EXPECT_EQ(seen, OtherThreads::kWait);
}

TEST(ThreadStartsTest, NamesTheStartOfAThread) {
  const Waiter waiter;
  const ProcSource proc;
  const ProcessMemory memory(getpid());
  ProcessImage image;
  ASSERT_EQ(image.Load(proc, getpid(), &memory), 0);
  const auto starts = ReadThreadStarts(image, "");
  ASSERT_TRUE(starts.contains(waiter.tid()));
  // All threads of std::thread start in one function of the C++ library, or in one of a sanitizer.
  EXPECT_NE(image.FindModule(starts.at(waiter.tid())), nullptr);
}

}  // namespace
}  // namespace rollcall
