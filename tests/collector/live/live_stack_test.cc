// SPDX-License-Identifier: Apache-2.0
#include "collector/live/live_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <set>
#include <thread>

#include "collector/live/ptrace_permission.h"
#include "collector/symbolize/symbolizer.h"
#include "tests/collector/live/live_child.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_program.h"

namespace rollcall {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::LiveChild;
using ::testing::Not;
using testing::Patient;

// The functions of the children. They are not inlined, and their calls are not turned into jumps,
// so that each one has a frame.
[[gnu::noinline]] int StackTestWait(const LiveChild& self) {
  const char heard = self.BlockInRead();
  asm volatile("");
  return heard;
}

[[gnu::noinline]] void StackTestSpin(std::atomic<uint64_t>* turns) {
  for (;;) turns->fetch_add(1, std::memory_order_relaxed);
}

// Changes a floating-point register and nothing else.
[[gnu::noinline]] void StackTestCount(std::atomic<uint64_t>* turns) {
  turns->fetch_add(1, std::memory_order_relaxed);
  for (double x = 1;; x += 1) {
#if defined(__aarch64__)
    asm volatile("" : "+w"(x));
#else
    asm volatile("" : "+x"(x));
#endif
  }
}

thread_local volatile uint64_t stack_test_own = 0;

[[gnu::noinline]] void StackTestSpinOnItsOwn(std::atomic<uint64_t>* turns) {
  for (;;) stack_test_own = turns->fetch_add(1, std::memory_order_relaxed);
}

[[gnu::noinline]] int StackTestRecurse(const LiveChild& self, int depth) {
  const int below = depth == 0 ? StackTestWait(self) : StackTestRecurse(self, depth - 1);
  asm volatile("");
  return below;
}

std::vector<std::string> Functions(const LiveThread& thread) {
  static Symbolizer symbolizer;
  std::vector<std::string> names;
  for (const CodeAddress& frame : thread.frames) {
    for (const SourceFrame& source : symbolizer.Symbolize(frame)) {
      const size_t scope = source.function.rfind("::");
      names.push_back(scope == std::string::npos ? source.function
                                                 : source.function.substr(scope + 2));
    }
  }
  return names;
}

// A counter that the parent and the child share.
std::atomic<uint64_t>* SharedCounter() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (page) std::atomic<uint64_t>(0);
}

bool KeepsMoving(const std::atomic<uint64_t>& counter) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const uint64_t before = counter;
  while (counter == before) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    sched_yield();
  }
  return true;
}

class LiveStackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kThreadSanitizer) {
      GTEST_SKIP() << "ThreadSanitizer adds a thread to every child, and delays its signals";
    }
  }
};

TEST_F(LiveStackTest, StackOfABlockedReadIsComplete) {
  LiveChild child([](LiveChild& self) { return StackTestWait(self) == 'g' ? 7 : 1; });
  child.WaitUntilBlockedIn(SYS_read);
  const LiveStacks stacks = CaptureLiveStacks(ProcSource(), child.pid(), Patient());
  EXPECT_EQ(stacks.error, "");
  ASSERT_EQ(stacks.threads.size(), 1U);
  EXPECT_EQ(stacks.threads[0].tid, child.pid());
  EXPECT_EQ(stacks.threads[0].end, ring::StackEnd::kComplete) << stacks.threads[0].detail;
  EXPECT_FALSE(stacks.threads[0].frames[0].is_return_address);
  EXPECT_TRUE(stacks.threads[0].frames[1].is_return_address);
  EXPECT_THAT(Functions(stacks.threads[0]), Contains("StackTestWait"));
  EXPECT_THAT(Functions(stacks.threads[0]), Contains("main"));
  // The capture did not interrupt the read, and the exit status is left for the parent.
  child.LetGo();
  EXPECT_EQ(child.WaitForExit(), 7);
}

TEST_F(LiveStackTest, StackOfAnEndlessLoopIsComplete) {
  std::atomic<uint64_t>* turns = SharedCounter();
  LiveChild child([turns](LiveChild&) {
    StackTestSpin(turns);
    return 0;
  });
  ASSERT_TRUE(KeepsMoving(*turns));
  for (int i = 0; i < 20; ++i) {
    const LiveStacks stacks = CaptureLiveStacks(ProcSource(), child.pid(), Patient());
    ASSERT_EQ(stacks.threads.size(), 1U);
    EXPECT_EQ(stacks.threads[0].method, CaptureMethod::kStopped) << stacks.threads[0].detail;
    EXPECT_EQ(stacks.threads[0].end, ring::StackEnd::kComplete) << stacks.threads[0].detail;
    EXPECT_THAT(Functions(stacks.threads[0]), Contains("StackTestSpin"));
  }
  EXPECT_TRUE(KeepsMoving(*turns));
  EXPECT_EQ(child.WaitForState(RunState::kRunning).tracer_pid, 0);
}

TEST_F(LiveStackTest, DigestIncludesFloatingPointRegisters) {
  std::atomic<uint64_t>* turns = SharedCounter();
  LiveChild child([turns](LiveChild&) {
    StackTestCount(turns);
    return 0;
  });
  while (*turns == 0) sched_yield();
  // On a busy machine the child may not run between two samples: one pair that differs is enough.
  std::set<uint64_t> digests;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (digests.size() < 2 && std::chrono::steady_clock::now() < give_up) {
    const LiveStacks stacks =
        CaptureLiveStacks(ProcSource(), child.pid(), Patient({.more_digests = 3}));
    ASSERT_EQ(stacks.threads.size(), 1U);
    const LiveThread& thread = stacks.threads[0];
    digests.insert(thread.more_digests.begin(), thread.more_digests.end());
    digests.insert(thread.digest);
  }
  EXPECT_GE(digests.size(), 2U);
  EXPECT_FALSE(digests.contains(0));
}

// The memory above the frames holds thread-local variables and the number of the processor. They
// change without a change in the frames.
TEST_F(LiveStackTest, StateOfAThreadIsNotPartOfItsFrames) {
  std::atomic<uint64_t>* turns = SharedCounter();
  LiveChild child([turns](LiveChild&) {
    std::thread([turns] { StackTestSpinOnItsOwn(turns); }).join();
    return 0;
  });
  ASSERT_TRUE(KeepsMoving(*turns));
  std::vector<uint64_t> before;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(KeepsMoving(*turns));
    const LiveStacks stacks = CaptureLiveStacks(ProcSource(), child.pid(), Patient());
    ASSERT_EQ(stacks.threads.size(), 2U);
    const LiveThread& thread = stacks.threads[1];
    ASSERT_EQ(thread.end, ring::StackEnd::kComplete) << thread.detail;
    ASSERT_GT(thread.digests.size(), 2U);
    // The digests of the callers of the function that spins.
    const std::vector<uint64_t> callers(thread.digests.begin() + 1, thread.digests.end());
    if (i == 1) {
      EXPECT_EQ(callers, before);
    }
    before = callers;
  }
}

TEST_F(LiveStackTest, RunningThreadIsNotStoppedIfSoRequested) {
  std::atomic<uint64_t>* turns = SharedCounter();
  LiveChild child([turns](LiveChild&) {
    StackTestSpin(turns);
    return 0;
  });
  ASSERT_TRUE(KeepsMoving(*turns));
  const LiveStacks stacks =
      CaptureLiveStacks(ProcSource(), child.pid(), Patient({.undisturbed_only = true}));
  ASSERT_EQ(stacks.threads.size(), 1U);
  EXPECT_EQ(stacks.threads[0].end, ring::StackEnd::kNone);
  EXPECT_THAT(stacks.threads[0].detail, HasSubstr("stopping was not requested"));
}

TEST_F(LiveStackTest, ThreadsAreNamedAndTheMainThreadComesFirst) {
  std::atomic<uint64_t>* turns = SharedCounter();
  static std::atomic<uint64_t>* spinner = nullptr;
  static LiveChild* in_child = nullptr;
  spinner = turns;
  LiveChild child([](LiveChild& self) {
    in_child = &self;
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          prctl(PR_SET_NAME, "spinner");
          StackTestSpin(spinner);
          return nullptr;
        },
        nullptr);
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          prctl(PR_SET_NAME, "waiter");
          StackTestWait(*in_child);
          return nullptr;
        },
        nullptr);
    prctl(PR_SET_NAME, "boss");
    pthread_join(thread, nullptr);
    return 7;
  });
  const ProcessState state = child.WaitFor([](const ProcessState& now) {
    return now.threads.size() == 3 && now.threads[2].blocked_call &&
           now.threads[2].blocked_call->number == SYS_read && now.threads[2].name == "waiter" &&
           now.threads[1].name == "spinner" && now.threads[0].name == "boss";
  });
  const LiveStacks stacks = CaptureLiveStacks(ProcSource(), child.pid(), Patient());
  ASSERT_EQ(stacks.threads.size(), 3U);
  EXPECT_EQ(stacks.threads[0].name, "boss");
  EXPECT_EQ(stacks.threads[1].name, "spinner");
  EXPECT_EQ(stacks.threads[2].name, "waiter");
  EXPECT_THAT(Functions(stacks.threads[1]), Contains("StackTestSpin"));
  EXPECT_THAT(Functions(stacks.threads[2]), Contains("StackTestWait"));
  for (const LiveThread& thread : stacks.threads) {
    EXPECT_EQ(thread.end, ring::StackEnd::kComplete) << thread.name << thread.detail;
  }
  const LiveStacks one =
      CaptureLiveStacks(ProcSource(), child.pid(), Patient({.tid = state.threads[2].tid}));
  ASSERT_EQ(one.threads.size(), 1U);
  EXPECT_EQ(one.threads[0].name, "waiter");
  const LiveStacks some = CaptureLiveStacks(ProcSource(), child.pid(), Patient({.max_threads = 2}));
  EXPECT_EQ(some.threads.size(), 2U);
  EXPECT_EQ(some.threads_left_out, 1U);
  child.LetGo();
  EXPECT_EQ(child.WaitForExit(), 7);
}

TEST_F(LiveStackTest, StoppedProcessStaysStopped) {
  LiveChild child([](LiveChild& self) { return StackTestWait(self) == 'g' ? 7 : 1; });
  child.WaitUntilBlockedIn(SYS_read);
  ASSERT_EQ(kill(child.pid(), SIGSTOP), 0);
  child.WaitForState(RunState::kStopped);
  // Both ways to capture a stack.
  const LiveStacks stacks = CaptureLiveStacks(ProcSource(), child.pid(), Patient());
  ASSERT_EQ(stacks.threads.size(), 1U);
  EXPECT_THAT(Functions(stacks.threads[0]), Contains("StackTestWait"));
  const ProcSource proc;
  const ProcessMemory memory(child.pid());
  ProcessImage image;
  ASSERT_EQ(image.Load(proc, child.pid(), &memory), 0);
  int error = 0;
  std::optional<ThreadSnapshot> snapshot;
  std::thread([&] {
    snapshot = SnapshotTaker(&proc, &image, child.pid(), RealPtrace())
                   .TakeStopped(child.pid(),
                                std::chrono::steady_clock::now() + std::chrono::seconds(5), &error);
  }).join();
  EXPECT_TRUE(snapshot && snapshot->all_registers) << error;
  EXPECT_EQ(child.WaitForState(RunState::kStopped).tracer_pid, 0);
  ASSERT_EQ(kill(child.pid(), SIGCONT), 0);
  child.LetGo();
  EXPECT_EQ(child.WaitForExit(), 7);
}

TEST_F(LiveStackTest, CallsThatDoNotRestartAreNotInterrupted) {
  LiveChild child([](LiveChild& self) {
    const int epoll = epoll_create1(0);
    epoll_event event{.events = EPOLLIN, .data = {}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, self.command_fd(), &event);
    self.Tell('e');
    return epoll_wait(epoll, &event, 1, -1) == 1 ? 7 : 1;
  });
  EXPECT_EQ(child.Hear(), 'e');
  child.WaitFor([](const ProcessState& now) {
    return now.threads[0].blocked_call && (now.threads[0].blocked_call->number == SYS_epoll_wait ||
                                           now.threads[0].blocked_call->number == SYS_epoll_pwait);
  });
  for (int i = 0; i < 20; ++i) {
    const LiveStacks stacks = CaptureLiveStacks(ProcSource(), child.pid(), Patient());
    ASSERT_EQ(stacks.threads.size(), 1U);
    EXPECT_EQ(stacks.threads[0].method, CaptureMethod::kUndisturbed);
    EXPECT_THAT(Functions(stacks.threads[0]), Contains(HasSubstr("epoll")));
  }
  child.LetGo();
  EXPECT_EQ(child.WaitForExit(), 7);
}

std::atomic<uint64_t>* handled = nullptr;

TEST_F(LiveStackTest, SignalsAreNotLost) {
  constexpr int kSignals = 300;
  handled = SharedCounter();
  std::atomic<uint64_t>* turns = SharedCounter();
  LiveChild child([turns](LiveChild&) {
    struct sigaction action {};
    action.sa_handler = [](int) { handled->fetch_add(1); };
    sigaction(SIGRTMIN, &action, nullptr);
    while (handled->load() < kSignals) turns->fetch_add(1);
    return 7;
  });
  ASSERT_TRUE(KeepsMoving(*turns));
  for (int i = 0; i < kSignals; ++i) {
    ASSERT_EQ(sigqueue(child.pid(), SIGRTMIN, {}), 0);
    if (i % 3 == 0) CaptureLiveStacks(ProcSource(), child.pid(), Patient());
  }
  EXPECT_EQ(child.WaitForExit(), 7);  // the child exits when it has handled all signals
}

// The thread may stop because of a pending signal instead of the requested stop: the signal must
// reach its handler.
TEST_F(LiveStackTest, SignalThatStopsTheThreadFirstIsDelivered) {
  handled = SharedCounter();
  std::atomic<uint64_t>* turns = SharedCounter();
  LiveChild child([turns](LiveChild&) {
    struct sigaction action {};
    action.sa_handler = [](int) { handled->fetch_add(1); };
    sigaction(SIGUSR1, &action, nullptr);
    while (handled->load() == 0) turns->fetch_add(1);
    return 7;
  });
  ASSERT_TRUE(KeepsMoving(*turns));
  const auto signal_instead = [](int request, pid_t tid, void* address, void* data) {
    if (request == PTRACE_INTERRUPT) return static_cast<long>(kill(tid, SIGUSR1));
    return RealPtrace()(request, tid, address, data);
  };
  const LiveStacks stacks =
      CaptureLiveStacks(ProcSource(), child.pid(), Patient({.ptrace = signal_instead}));
  ASSERT_EQ(stacks.threads.size(), 1U);
  EXPECT_EQ(stacks.threads[0].method, CaptureMethod::kStopped) << stacks.threads[0].detail;
  EXPECT_EQ(child.WaitForExit(), 7);
}

TEST_F(LiveStackTest, ProcessContinuesWhenItsTracerIsKilled) {
  std::atomic<uint64_t>* turns = SharedCounter();
  LiveChild child([turns](LiveChild&) {
    StackTestSpin(turns);
    return 0;
  });
  ASSERT_TRUE(KeepsMoving(*turns));
  LiveChild tracer([&child](LiveChild&) {
    const auto dies_in_between = [](int request, pid_t tid, void* address, void* data) {
      if (request == PTRACE_GETREGSET) kill(getpid(), SIGKILL);
      return RealPtrace()(request, tid, address, data);
    };
    CaptureLiveStacks(ProcSource(), child.pid(), Patient({.ptrace = dies_in_between}));
    return 1;
  });
  EXPECT_EQ(tracer.WaitForExit(), -SIGKILL);
  EXPECT_TRUE(KeepsMoving(*turns));
}

// vfork leaves the caller in an uninterruptible wait until its child is done.
TEST_F(LiveStackTest, DetachesFromAThreadThatCannotBeStopped) {
  LiveChild child([](LiveChild& self) {
    self.Tell('v');
    // The test needs the uninterruptible wait that vfork causes.
    const pid_t grandchild = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
    if (grandchild == 0) {
      self.BlockInRead();  // NOLINT(clang-analyzer-unix.Vfork)
      _exit(0);
    }
    waitpid(grandchild, nullptr, 0);
    return 7;
  });
  EXPECT_EQ(child.Hear(), 'v');
  child.WaitForState(RunState::kDiskWait);
  const LiveStacks stacks = CaptureLiveStacks(ProcSource(), child.pid(), Patient());
  ASSERT_EQ(stacks.threads.size(), 1U);
  EXPECT_NE(stacks.threads[0].method, CaptureMethod::kStopped);
  const ProcSource proc;
  const ProcessMemory memory(child.pid());
  ProcessImage image;
  ASSERT_EQ(image.Load(proc, child.pid(), &memory), 0);
  int error = 0;
  std::thread([&] {
    const SnapshotTaker taker(&proc, &image, child.pid(), RealPtrace());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    EXPECT_FALSE(taker.TakeStopped(child.pid(), deadline, &error));
  }).join();
  EXPECT_EQ(error, ETIMEDOUT);
  child.LetGo();
  EXPECT_EQ(child.WaitForExit(), 7);
}

TEST_F(LiveStackTest, DeepStackIsTruncatedAtTheLimit) {
  LiveChild child([](LiveChild& self) { return StackTestRecurse(self, 100) == 'g' ? 7 : 1; });
  child.WaitUntilBlockedIn(SYS_read);
  const LiveStacks all = CaptureLiveStacks(ProcSource(), child.pid(), Patient());
  ASSERT_EQ(all.threads.size(), 1U);
  EXPECT_EQ(all.threads[0].end, ring::StackEnd::kComplete);
  EXPECT_GT(all.threads[0].frames.size(), 100U);
  const LiveStacks some = CaptureLiveStacks(ProcSource(), child.pid(), Patient({.max_frames = 20}));
  EXPECT_EQ(some.threads[0].frames.size(), 20U);
  EXPECT_EQ(some.threads[0].end, ring::StackEnd::kDepthLimit);
}

#if defined(__x86_64__)
TEST_F(LiveStackTest, GeneratedCodeEndsTheStack) {
  LiveChild child([](LiveChild& self) {
    void* page =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const uint8_t loop_for_ever[] = {0xEB, 0xFE};
    std::memcpy(page, loop_for_ever, sizeof(loop_for_ever));
    self.Tell(static_cast<char>(reinterpret_cast<uintptr_t>(page) >> 12));
    reinterpret_cast<void (*)()>(page)();
    return 0;
  });
  const auto page = static_cast<uint8_t>(child.Hear());
  const ProcessState first = child.WaitForState(RunState::kRunning);
  child.WaitFor([&](const ProcessState& now) {
    return now.threads[0].cpu_ns > first.threads[0].cpu_ns + 10'000'000;
  });
  const LiveStacks stacks = CaptureLiveStacks(ProcSource(), child.pid(), Patient());
  ASSERT_EQ(stacks.threads.size(), 1U);
  EXPECT_EQ(stacks.threads[0].end, ring::StackEnd::kNoUnwindInfo);
  EXPECT_THAT(stacks.threads[0].detail, HasSubstr("generated code"));
  ASSERT_EQ(stacks.threads[0].frames.size(), 1U);
  EXPECT_EQ(stacks.threads[0].frames[0].module_path, "");
  EXPECT_EQ(static_cast<uint8_t>(stacks.threads[0].frames[0].vaddr >> 12), page);
}
#endif

// The file of the running program was deleted or replaced: the stack is unwound from memory.
class ReplacedProgram : public LiveStackTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ReplacedProgram, IsUnwoundFromMemory) {
  const TemporaryDirectory dir;
  dir.Write("main.c",
            "#include <unistd.h>\n"
            "__attribute__((noinline)) int inner(int fd) {\n"
            "  char c; int got = read(fd, &c, 1); __asm__ volatile(\"\"); return got;\n"
            "}\n"
            "int main(void) { int got = inner(0); __asm__ volatile(\"\"); return got; }\n");
  testing::RunCommand(dir.path(), std::string("cc -O2 -g main.c -o program -Wl,--build-id ") +
                                      GetParam() + " && cp program saved");
  LiveChild child([&dir](LiveChild& self) {
    dup2(self.command_fd(), 0);
    execl(dir.Path("program").c_str(), "program", nullptr);
    return 1;
  });
  child.WaitUntilBlockedIn(SYS_read);
  for (const std::string change : {"rm program", "echo text > program"}) {
    testing::RunCommand(dir.path(), change);
    const LiveStacks stacks = CaptureLiveStacks(ProcSource(), child.pid(), Patient());
    ASSERT_EQ(stacks.threads.size(), 1U);
    const LiveThread& thread = stacks.threads[0];
    EXPECT_EQ(thread.end, ring::StackEnd::kComplete) << thread.detail;
    const CodeAddress& inner = thread.frames.at(1);
    EXPECT_EQ(inner.module_path, dir.Path("program") + " (deleted)");
    // The recorded address also applies to a copy of the program at another path.
    CodeAddress saved = inner;
    saved.module_path = dir.Path("saved");
    Symbolizer symbolizer;
    EXPECT_EQ(symbolizer.Symbolize(saved)[0].function, "inner");
    EXPECT_EQ(symbolizer.Symbolize(inner)[0].detail, FrameDetail::kModule);
  }
  child.LetGo();
  EXPECT_EQ(child.WaitForExit(), 1);
}

INSTANTIATE_TEST_SUITE_P(Link, ReplacedProgram,
                         ::testing::Values("-pie -fPIE", "-no-pie -fno-pie"));

// The code addresses its frame by rbp, which /proc does not show. If the thread is not stopped, the
// stack is incomplete and must be reported as incomplete.
TEST_F(LiveStackTest, UnknownRegisterIsNotTheOutermostFrame) {
  const TemporaryDirectory dir;
  dir.Write("main.c",
            "#include <unistd.h>\n"
            "int inner(int fd) { char c; return read(fd, &c, 1); }\n"
            "int main(void) { return inner(0); }\n");
  testing::RunCommand(dir.path(), "cc -O0 -fno-omit-frame-pointer main.c -o program");
  LiveChild child([&dir](LiveChild& self) {
    dup2(self.command_fd(), 0);
    execl(dir.Path("program").c_str(), "program", nullptr);
    return 99;
  });
  child.WaitFor([](const ProcessState& now) {
    return now.name == "program" && now.threads[0].blocked_call &&
           now.threads[0].blocked_call->number == SYS_read &&
           now.threads[0].blocked_call->arguments[0] == 0 &&
           now.threads[0].blocked_call->arguments[2] == 1;
  });
  const LiveStacks quiet =
      CaptureLiveStacks(ProcSource(), child.pid(), Patient({.undisturbed_only = true}));
  ASSERT_EQ(quiet.threads.size(), 1U);
  EXPECT_EQ(quiet.threads[0].end, ring::StackEnd::kBadFrame);
  EXPECT_THAT(quiet.threads[0].detail, HasSubstr("register"));
  EXPECT_THAT(Functions(quiet.threads[0]), Not(Contains("main")));
  const LiveStacks full = CaptureLiveStacks(ProcSource(), child.pid(), Patient());
  EXPECT_EQ(full.threads[0].end, ring::StackEnd::kComplete);
  EXPECT_EQ(full.threads[0].method, CaptureMethod::kStopped);
  EXPECT_THAT(Functions(full.threads[0]), Contains("main"));
  child.LetGo();
  EXPECT_EQ(child.WaitForExit(), 1);
}

TEST_F(LiveStackTest, EndedProcessIsReported) {
  LiveChild child([](LiveChild&) { return 0; });
  const pid_t pid = child.pid();
  child.WaitForState(RunState::kZombie);
  EXPECT_THAT(CaptureLiveStacks(ProcSource(), pid, Patient()).threads.at(0).detail,
              HasSubstr("ended"));
  child.WaitForExit();
  EXPECT_THAT(CaptureLiveStacks(ProcSource(), pid, Patient()).error, HasSubstr("is gone"));
}

// Yama with the setting of many distributions, for a user without capabilities.
class RestrictedProc : public ProcSource {
 public:
  int Read(const std::string& path, std::string* content, size_t max_bytes) const override {
    if (path.ends_with("/syscall")) return EPERM;
    if (path == "/proc/sys/kernel/yama/ptrace_scope") {
      *content = "1\n";
      return 0;
    }
    if (path == "/proc/self/status") {
      *content = "Uid:\t" + std::to_string(getuid()) + "\t0\nCapEff:\t0000000000000000\n";
      return 0;
    }
    const int error = ProcSource::Read(path, content, max_bytes);
    // Processes of root have capabilities, and the lack of these would be reported as the reason.
    const size_t capabilities = content->find("CapPrm:");
    if (path.ends_with("/status") && capabilities != std::string::npos) {
      content->resize(capabilities);
    }
    return error;
  }
};

TEST_F(LiveStackTest, PermissionDeniedNamesTheSetting) {
  LiveChild child([](LiveChild& self) { return StackTestWait(self) == 'g' ? 7 : 1; });
  child.WaitUntilBlockedIn(SYS_read);
  const auto refuse = [](int, pid_t, void*, void*) {
    errno = EPERM;
    return -1L;
  };
  const LiveStacks stacks =
      CaptureLiveStacks(RestrictedProc(), child.pid(), Patient({.ptrace = refuse}));
  EXPECT_THAT(stacks.error, HasSubstr("sysctl kernel.yama.ptrace_scope=0"));
  ASSERT_EQ(stacks.threads.size(), 1U);
  EXPECT_EQ(stacks.threads[0].end, ring::StackEnd::kNone);
}

// As in some containers: /proc can be read, and the memory of a process cannot.
TEST_F(LiveStackTest, ForbiddenMemoryNamesTheSetting) {
  LiveChild child([](LiveChild& self) { return StackTestWait(self) == 'g' ? 7 : 1; });
  child.WaitUntilBlockedIn(SYS_read);
  LiveChild sandbox([&child](LiveChild&) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{.len = std::size(filter), .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      return 2;
    }
    const LiveStacks stacks = CaptureLiveStacks(ProcSource(), child.pid(), Patient());
    return stacks.error.find("SYS_PTRACE") == std::string::npos ? 3 : 0;
  });
  EXPECT_EQ(sandbox.WaitForExit(), 0);
}

TEST_F(LiveStackTest, AnotherTracerIsNamed) {
  LiveChild child([](LiveChild& self) { return StackTestWait(self) == 'g' ? 7 : 1; });
  child.WaitUntilBlockedIn(SYS_read);
  LiveChild debugger([&child](LiveChild& self) {
    prctl(PR_SET_NAME, "gdb");
    if (ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr) != 0) return 1;
    self.Tell('t');
    self.BlockInRead();
    return 0;
  });
  EXPECT_EQ(debugger.Hear(), 't');
  EXPECT_THAT(ExplainPtraceDenied(ProcSource(), child.pid()),
              HasSubstr("traced by gdb (pid " + std::to_string(debugger.pid()) + ")"));
  EXPECT_EQ(CaptureLiveStacks(ProcSource(), child.pid(), Patient()).threads.size(), 1U);
  debugger.LetGo();
  EXPECT_EQ(debugger.WaitForExit(), 0);
  child.LetGo();
  EXPECT_EQ(child.WaitForExit(), 7);
}

TEST(PtracePermissionTest, EveryObstacleHasARemedy) {
  const auto explain = [](const std::string& target, const std::string& self,
                          const std::string& scope) {
    const TemporaryDirectory dir;
    dir.Write("proc/42/status", target);
    dir.Write("proc/self/status", self);
    dir.Write("proc/9/comm", "gdb\n");
    if (!scope.empty()) dir.Write("proc/sys/kernel/yama/ptrace_scope", scope + "\n");
    return ExplainPtraceDenied(ProcSource(dir.path()), 42);
  };
  const std::string target = "TracerPid:\t0\nUid:\t1000\t1000\t1000\t1000\n";
  const std::string user = "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\n";
  const std::string other = "Uid:\t1001\t1001\t1001\t1001\nCapEff:\t0000000000000000\n";
  const std::string root = "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n";
  EXPECT_THAT(explain("TracerPid:\t9\n", user, "1"), HasSubstr("traced by gdb (pid 9)"));
  EXPECT_THAT(explain(target, other, "1"), HasSubstr("belongs to user id 1000"));
  EXPECT_THAT(explain(target + "CapPrm:\t0000000000000400\n", user, "1"),
              HasSubstr("capabilities that rollcall lacks"));
  EXPECT_THAT(explain(target + "CapPrm:\t0000000000000000\n", user, "1"),
              HasSubstr("ptrace_scope is 1"));
  EXPECT_THAT(explain(target, user, "1"),
              HasSubstr("ptrace_scope is 1: only a process's ancestors"));
  EXPECT_THAT(explain(target, user, "2"), HasSubstr("ptrace_scope is 2: only administrators"));
  EXPECT_THAT(explain(target, root, "3"), HasSubstr("ptrace_scope is 3: no process"));
  EXPECT_THAT(explain(target, user + "Seccomp:\t2\n", "0"), HasSubstr("seccomp=unconfined"));
  EXPECT_THAT(explain(target, user + "Seccomp:\t0\n", ""), HasSubstr("PR_SET_DUMPABLE"));
  EXPECT_THAT(explain(target, root, "1"), HasSubstr("although CAP_SYS_PTRACE is there"));
  EXPECT_THAT(explain("", "", ""), HasSubstr("CAP_SYS_PTRACE"));
}

}  // namespace
}  // namespace rollcall
