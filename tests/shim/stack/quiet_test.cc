// SPDX-License-Identifier: Apache-2.0
// Tests that the stack walker has no side effects on the process of the user.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>

#include "shim/stack/stack.h"
#include "tests/shim/stack/oracle.h"
#include "tests/support/sanitizers.h"

namespace rollcall::shim {
namespace {

struct Raw {
  uint64_t pcs[kMaxStackDepth];
  int depth = 0;
  StackEnd end = StackEnd::kNone;
  uint64_t hash = 0;
};

[[gnu::noinline]] void CaptureRaw(Raw* raw) {
  raw->depth =
      CaptureStack(ROLLCALL_CALLER_FRAME(), raw->pcs, kMaxStackDepth, &raw->end, &raw->hash);
  __asm__ volatile("" ::: "memory");
}

// Captures different stacks from different call sites, more than the cache holds, in `depth` steps.
[[gnu::noinline]] void Visit(int depth, Raw* raw) {
  CaptureRaw(raw);
  if (depth > 0) Visit(depth - 1, raw);
  CaptureRaw(raw);
}

// Runs `body` in a child process. Returns its exit status, or the negative number of the signal
// that killed it.
template <typename Body>
int InChild(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// After this call every system call except exit_group kills the process.
void ForbidSystemCalls() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog filter{sizeof(program) / sizeof(program[0]), program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    _exit(77);
  }
}

TEST(StackManners, MakesNoSystemCallAfterTheFirstCall) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's runtime makes its own";
  const auto run = [](bool in_thread, bool forbidden_call) {
    return InChild([&] {
      const rlimit no_core{0, 0};
      setrlimit(RLIMIT_CORE, &no_core);
      InitStacks();
      const auto body = [&] {
        Raw raw;
        Visit(30, &raw);
        ForbidSystemCalls();
        if (forbidden_call) syscall(SYS_getppid);
        for (int i = 0; i < 100; ++i) Visit(30, &raw);
        _exit(raw.end == StackEnd::kComplete ? 0 : 1);
      };
      if (in_thread) {
        std::thread(body).join();
      } else {
        body();
      }
    });
  };
  const int status = run(false, false);
  if (status == 77) GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(run(true, false), 0);
  EXPECT_EQ(run(false, true), -SIGSYS) << "the filter does not bite";
}

// The statistics of the allocator would not show an allocation that is freed again. The test
// therefore exhausts the memory, so that every allocation fails.
TEST(StackManners, AllocatesNothingAfterTheFirstCall) {
  if (kSanitized) GTEST_SKIP() << "not the allocator of libc";
  if (kEmulated) GTEST_SKIP() << "the emulator needs memory itself";
  ASSERT_TRUE(InitStacks());
  Raw raw;
  Visit(30, &raw);
  // Without free memory every kind of allocation fails and sets errno.
  const int status = InChild([&] {
    errno = 0;
    const rlimit nothing{0, 0};
    setrlimit(RLIMIT_AS, &nothing);
    for (size_t size = size_t{1} << 20; size >= 8; size /= 2) {
      for (void* volatile taken = &size; taken != nullptr;) taken = malloc(size);
    }
    if (errno != ENOMEM) _exit(2);
    errno = 0;
    Raw again;
    Visit(30, &again);
    _exit(errno == 0 && again.end == StackEnd::kComplete ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
}

TEST(StackManners, ReturnsNoStackIfThereIsNoMemoryForAThread) {
  if (kSanitized || kEmulated) GTEST_SKIP() << "a sanitizer or emulator needs memory itself";
  const int status = InChild([] {
    if (!InitStacks()) _exit(2);
    std::thread([] {
      const rlimit nothing{0, 0};
      setrlimit(RLIMIT_AS, &nothing);
      Raw raw;
      errno = 0;
      CaptureRaw(&raw);
      _exit(raw.depth == 0 && raw.end == StackEnd::kNone && errno == 0 ? 0 : 1);
    }).join();
  });
  EXPECT_EQ(status, 0);
}

// libunwind 1.6.2 writes to a pipe whose descriptor may be a file of the user after closefrom.
TEST(StackManners, WritesNothingIntoAReusedDescriptor) {
  char name[] = "/tmp/rollcall_stack_XXXXXX";
  const int made = mkstemp(name);
  ASSERT_GE(made, 0);
  close(made);
  const int status = InChild([&] {
    if (!InitStacks()) _exit(2);
    Raw raw;
    CaptureRaw(&raw);
    closefrom(3);
    for (int i = 0; i < 20; ++i) {
      if (open(name, O_RDWR) < 0) _exit(3);
    }
    // Known and new addresses, and a new thread.
    for (int i = 0; i < 10; ++i) Visit(10, &raw);
    std::thread([&] { Visit(10, &raw); }).join();
    _exit(raw.end == StackEnd::kComplete ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
  const int file = open(name, O_RDONLY);
  EXPECT_EQ(lseek(file, 0, SEEK_END), 0) << "bytes that nobody wrote";
  close(file);
  unlink(name);
}

TEST(StackManners, OpensNoDescriptor) {
  const int before = dup(0);
  ASSERT_GE(before, 0);
  close(before);
  std::thread([] {
    ASSERT_TRUE(InitStacks());
    Raw raw;
    Visit(5, &raw);
  }).join();
  const int after = dup(0);
  close(after);
  EXPECT_EQ(before, after);
}

TEST(StackManners, DoesNotAffectExceptions) {
  ASSERT_TRUE(InitStacks());
  struct Counts {
    int destroyed = 0;
    ~Counts() = default;
  } counts;
  struct Guard {
    Counts* counts;
    ~Guard() {
      Raw raw;
      CaptureRaw(&raw);  // during the propagation of an exception
      ++counts->destroyed;
      EXPECT_EQ(raw.end, StackEnd::kComplete);
    }
  };
  const std::function<void(int)> down = [&](int depth) {
    const Guard guard{&counts};
    Raw raw;
    CaptureRaw(&raw);
    if (depth == 0) throw std::runtime_error("expected");
    down(depth - 1);
  };
  for (int i = 0; i < 10; ++i) EXPECT_THROW(down(5), std::runtime_error);
  EXPECT_EQ(counts.destroyed, 60);
}

TEST(StackManners, KeepsErrno) {
  ASSERT_TRUE(InitStacks());
  std::thread([] {
    errno = ENOTTY;
    Raw raw;
    Visit(3, &raw);
    EXPECT_EQ(errno, ENOTTY);
  }).join();
}

std::atomic<uint64_t> nested_captures{0};
std::atomic<uint64_t> nested_errors{0};

void CaptureInHandler(int) {
  Raw raw;
  CaptureRaw(&raw);
  nested_captures.fetch_add(1, std::memory_order_relaxed);
  if (raw.end != StackEnd::kComplete && !MayEndAfterSignal(raw.end))
    nested_errors.fetch_add(1, std::memory_order_relaxed);
}

// Captures in the handler of a signal that interrupts captures, in several threads: every result
// must equal the one without interruption.
TEST(StackManners, SurvivesSignalsInsideTheWalker) {
  if (kSanitized) GTEST_SKIP() << "sanitizers defer signals to safe places";
  ASSERT_TRUE(InitStacks());
  struct sigaction old {};
  InstallHandler(SIGUSR2, CaptureInHandler, 0, &old);
  std::atomic<bool> stop{false};
  std::atomic<int> started{0};
  std::atomic<uint64_t> wrong{0};
  const auto work = [&] {
    Raw captured[2];
    const Raw& quiet = captured[0];
    const Raw& raw = captured[1];
    volatile int into = 0;  // all iterations have the same call site
    for (unsigned round = 0; !stop.load(); ++round) {
      CaptureRaw(&captured[into]);
      if (into == 0) {
        into = 1;
        started.fetch_add(1);
        continue;
      }
      // There is one call site, so the path is the same each time.
      if (raw.end != quiet.end || raw.hash != quiet.hash || raw.depth != quiet.depth ||
          !std::equal(raw.pcs, raw.pcs + raw.depth, quiet.pcs)) {
        wrong.fetch_add(1);
      }
      if (round % 4096 == 0) OnDlclose();
    }
  };
  std::thread threads[2] = {std::thread(work), std::thread(work)};
  while (started.load() < 2) sched_yield();
  while (nested_captures.load() < 1500) {
    for (std::thread& thread : threads) pthread_kill(thread.native_handle(), SIGUSR2);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  sigaction(SIGUSR2, &old, nullptr);
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(nested_errors.load(), 0u);
}

TEST(StackManners, WorksAfterALongjmpOutOfTheWalker) {
  ASSERT_TRUE(InitStacks());
  static sigjmp_buf back;
  struct sigaction action {};
  struct sigaction old {};
  action.sa_handler = [](int) { siglongjmp(back, 1); };
  sigaction(SIGALRM, &action, &old);
  volatile int jumps = 0;
  if (kSanitized) GTEST_SKIP() << "sanitizers defer signals to safe places";
  sigsetjmp(back, 1);
  if (jumps < 50) {
    jumps = jumps + 1;
    ualarm(200, 0);
    Raw raw;
    for (;;) Visit(3, &raw);
  }
  sigaction(SIGALRM, &old, nullptr);
  Raw first;
  Raw second;
  for (Raw* raw : {&first, &second}) CaptureRaw(raw);
  EXPECT_EQ(first.end, StackEnd::kComplete);
  EXPECT_EQ(second.end, StackEnd::kComplete);
}

TEST(StackManners, WorksInAForkedChild) {
  ASSERT_TRUE(InitStacks());
  const auto expect = [] {
    Raw raw;
    CaptureRaw(&raw);
    return raw.end == StackEnd::kComplete;
  };
  EXPECT_TRUE(expect());
  EXPECT_EQ(InChild([&] { _exit(expect() ? 0 : 1); }), 0);
  std::thread([&] {
    EXPECT_TRUE(expect());
    EXPECT_EQ(InChild([&] { _exit(expect() ? 0 : 1); }), 0);
  }).join();
}

// Captures deep in the initial thread's stack, which grows after the walker first read its bounds.
[[gnu::noinline]] void DeepThenCapture(int frames, Raw* raw) {
  volatile char room[8192];
  room[0] = 1;
  if (frames > 0) {
    DeepThenCapture(frames - 1, raw);
  } else {
    CaptureRaw(raw);
  }
  room[1] = room[0];
}

TEST(StackManners, CapturesFramesOfAGrowingStack) {
  if (kSanitized) GTEST_SKIP() << "frames are larger there";
  ASSERT_TRUE(InitStacks());
  Raw raw;
  int shallow = 0;
  for (int frames = 0; frames < 700; frames += 50) {
    DeepThenCapture(frames, &raw);
    if (frames == 0) shallow = raw.depth;
    EXPECT_EQ(raw.depth, std::min(shallow + frames, kMaxStackDepth));
  }
}

}  // namespace
}  // namespace rollcall::shim
