// SPDX-License-Identifier: Apache-2.0
// Compares the stack walker with libunwind on real stacks, and tests how stacks end.
#include <alloca.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "shim/stack/stack.h"
#include "tests/shim/stack/oracle.h"
#include "tests/support/sanitizers.h"

namespace rollcall::shim {
namespace {

using Leaf = std::function<void()>;

class Capturing : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(InitStacks());
    if (Libunwind() == nullptr) GTEST_SKIP() << "no libunwind.so.8 to compare with";
  }
};

// Compares the walkers three times: with new addresses, with cached rules, and with a known stack.
[[gnu::noinline]] void Compare() {
  for (int i = 0; i < 3; ++i) {
    Pair pair;
    CaptureBoth(&pair);
    EXPECT_EQ(pair.Difference(), "") << "round " << i;
    EXPECT_TRUE(pair.end == StackEnd::kComplete || pair.end == StackEnd::kDepthLimit)
        << static_cast<int>(pair.end) << "\n"
        << pair.Text();
  }
}

// The kinds of frames that compilers generate; each calls `next`.
[[gnu::noinline]] void Plain(const Leaf& next) {
  next();
  __asm__ volatile("");
}
[[gnu::noinline]] void Alloca(size_t size, const Leaf& next) {
  volatile char* room = static_cast<char*>(alloca(size));
  room[0] = 1;
  next();
  room[1] = room[0];
}
[[gnu::noinline]] void Realigned(const Leaf& next) {
  alignas(64) volatile char room[64];
  room[0] = 1;
  next();
  room[1] = room[0];
}
// A realigned frame with an argument on the stack: gcc addresses it by a separate register (DRAP).
[[gnu::noinline]] void RealignedWithStackArguments(long, long, long, long, long, long, long seventh,
                                                   size_t size, const Leaf& next) {
  alignas(64) volatile long room[8];
  volatile char* more = static_cast<char*>(alloca(size));
  more[0] = 1;
  room[0] = seventh;
  next();
  room[1] = room[0];
}
[[gnu::noinline]] void WithFramePointer(const Leaf& next) {
  const void* volatile frame = __builtin_frame_address(0);  // makes the compiler keep one
  static_cast<void>(frame);
  next();
  __asm__ volatile("");
}
[[gnu::noinline]] void Throws(const Leaf& next) {
  std::unique_ptr<int> cleaned_up = std::make_unique<int>(1);
  try {
    next();
    throw 1;
  } catch (int) {
    next();  // from a catch block, whose code may be in the cold part
  }
}
[[gnu::noinline]] void Large(const Leaf& next) {
  volatile char room[100000];
  room[0] = 1;
  next();
  room[1] = room[0];
}
thread_local const Leaf* compared_by_qsort;
[[gnu::noinline]] void ThroughLibc(const Leaf& next) {
  const Leaf* outer = std::exchange(compared_by_qsort, &next);
  int two[] = {2, 1};
  qsort(two, 2, sizeof(int), [](const void* a, const void* b) {
    (*compared_by_qsort)();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  compared_by_qsort = outer;
}
// Code that compilers do not generate from C++. Each function calls its first argument with the
// second.
//   spoil      uses the frame pointer as an ordinary register, as -O2 code does: the walker must
//   not
//              use it as frame pointer
//   last_call  ends with the call, as that of a function that does not return: its return address
//              lies in the next function (here it returns, to code that removes the frame)
#if defined(__x86_64__)
__asm__(R"(
  .text
  .type rollcall_test_spoil, @function
rollcall_test_spoil:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset rbp, -16
  movq $0x1234567, %rbp
  movq %rdi, %rax
  movq %rsi, %rdi
  callq *%rax
  popq %rbp
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size rollcall_test_spoil, . - rollcall_test_spoil

  .type rollcall_test_last_call, @function
rollcall_test_last_call:
  .cfi_startproc
  subq $24, %rsp
  .cfi_def_cfa_offset 32
  movq %rdi, %rax
  movq %rsi, %rdi
  callq *%rax
  .cfi_endproc
  .size rollcall_test_last_call, . - rollcall_test_last_call
rollcall_test_next_function:
  .cfi_startproc
  addq $24, %rsp
  ret
  .cfi_endproc
)");
// `push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret`
constexpr unsigned char kJitCode[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
constexpr uint64_t kJitReturn = 6;
#elif defined(__aarch64__)
// Global, because the assembler refers to a local symbol by its section, which GOT entries cannot.
__asm__(R"(
  .text
  .globl rollcall_test_spoil, rollcall_test_last_call, rollcall_test_sign
  .type rollcall_test_spoil, @function
rollcall_test_spoil:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x29, #0x1234
  mov x2, x0
  mov x0, x1
  blr x2
  ldp x29, x30, [sp], #16
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  ret
  .cfi_endproc
  .size rollcall_test_spoil, . - rollcall_test_spoil

  .type rollcall_test_last_call, @function
rollcall_test_last_call:
  .cfi_startproc
  sub sp, sp, #32
  .cfi_def_cfa_offset 32
  str x30, [sp, #8]
  .cfi_offset x30, -24
  mov x2, x0
  mov x0, x1
  blr x2
  .cfi_endproc
  .size rollcall_test_last_call, . - rollcall_test_last_call
rollcall_test_next_function:
  .cfi_startproc
  ldr x30, [sp, #8]
  add sp, sp, #32
  ret
  .cfi_endproc

  .type rollcall_test_sign, @function
rollcall_test_sign:
  .cfi_startproc
  hint #25                  // paciasp: signs the return address
  .cfi_negate_ra_state
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  mov x29, sp
  mov x2, x0
  mov x0, x1
  blr x2
  ldp x29, x30, [sp], #16
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  hint #29                  // autiasp
  .cfi_negate_ra_state
  ret
  .cfi_endproc
  .size rollcall_test_sign, . - rollcall_test_sign
)");
// `stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret`
constexpr uint32_t kJitCode[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
constexpr uint64_t kJitReturn = 12;
extern "C" void rollcall_test_sign(void (*call)(const Leaf*), const Leaf* next);
#endif
extern "C" void rollcall_test_spoil(void (*call)(const Leaf*), const Leaf* next);
extern "C" void rollcall_test_last_call(void (*call)(const Leaf*), const Leaf* next);
void CallLeaf(const Leaf* leaf) { (*leaf)(); }
void SpoilsFramePointer(const Leaf& next) { rollcall_test_spoil(CallLeaf, &next); }

constexpr unsigned kKinds = 9;
void Frame(unsigned kind, const Leaf& next) {
  switch (kind % kKinds) {
    case 0:
      return Plain(next);
    case 1:
      return Alloca(100 + kind % 64, next);
    case 2:
      return Realigned(next);
    case 3:
      return RealignedWithStackArguments(1, 2, 3, 4, 5, 6, 7, 50 + kind % 64, next);
    case 4:
      return WithFramePointer(next);
    case 5:
      return Throws(next);
    case 6:
      return Large(next);
    case 7:
      return ThroughLibc(next);
    default:
      return SpoilsFramePointer(next);
  }
}

// Calls `leaf` from a random sequence of `height` frames.
void Tower(std::mt19937& random, int height, const Leaf& leaf) {
  if (height == 0) return leaf();
  Frame(static_cast<unsigned>(random()), [&] { Tower(random, height - 1, leaf); });
}

TEST_F(Capturing, EqualsLibunwindOnEachKindOfFrame) {
  for (unsigned kind = 0; kind < kKinds; ++kind) {
    SCOPED_TRACE(kind);
    Frame(kind, Compare);
  }
}

TEST_F(Capturing, EqualsLibunwindOnRandomStacks) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    const int height = 1 + i % 6;  // Throws and qsort call twice: 2^6 leaves at most
    Tower(random, height, Compare);
    if (HasFailure()) break;
  }
}

TEST_F(Capturing, EqualsLibunwindInThreads) {
  if (kThreadSanitizer)
    GTEST_SKIP() << "libunwind locks in a thread's last destructors, TSan ends before";
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 50; ++i) Tower(random, 1 + i % 4, Compare);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Capturing, FirstAddressIsTheCallSite) {
  const void* after = nullptr;
  Captured captured;
  const auto call = [&]() __attribute__((noinline)) {
    captured = Capture();
    after = &&here;
  here:
    return;
  };
  call();
  ASSERT_FALSE(captured.pcs.empty());
  Dl_info ours{};
  Dl_info theirs{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(captured.pcs[0]), &ours), 0);
  ASSERT_NE(dladdr(after, &theirs), 0);
  EXPECT_EQ(ours.dli_fbase, theirs.dli_fbase);
  EXPECT_EQ(captured.end, StackEnd::kComplete);
}

[[gnu::noinline]] void Recurse(int depth, const Leaf& leaf) {
  if (depth == 0) {
    leaf();
  } else {
    Recurse(depth - 1, leaf);
  }
  __asm__ volatile("");
}

TEST_F(Capturing, ReportsTheDepthLimit) {
  Captured captured;
  Recurse(100, [&] { captured = Capture(); });
  EXPECT_EQ(captured.pcs.size(), kMaxStackDepth);
  EXPECT_EQ(captured.end, StackEnd::kDepthLimit);
  Recurse(100, [&] { captured = Capture(3); });
  EXPECT_EQ(captured.pcs.size(), 3u);
  EXPECT_EQ(captured.end, StackEnd::kDepthLimit);
  Recurse(1, [&] { captured = Capture(0); });
  EXPECT_TRUE(captured.pcs.empty());
}

TEST_F(Capturing, HashesIdentifyCallPaths) {
  std::vector<Captured> captured;
  volatile int rounds = 2;  // not to be unrolled: into other call sites
  volatile int depths = 40;
  for (int round = 0; round < rounds; ++round) {
    for (int depth = 0; depth < depths; ++depth) {
      Recurse(depth, [&] { captured.push_back(Capture()); });
    }
  }
  for (size_t i = 0; i < captured.size(); ++i) {
    for (size_t j = 0; j < captured.size(); ++j) {
      EXPECT_EQ(captured[i].hash == captured[j].hash,
                captured[i].pcs == captured[j].pcs && captured[i].end == captured[j].end);
    }
  }
  EXPECT_EQ(captured[0].hash, captured[40].hash);
}

// Frames of one function with different callers: the cache of stacks must not confuse them.
TEST_F(Capturing, DistinguishesEqualFramesWithDifferentCallers) {
  std::vector<Captured> captured;
  const Leaf leaf = [&] { captured.push_back(Capture()); };
  volatile int rounds = 6;  // not to be unrolled: into other call sites
  for (int i = 0; i < rounds; ++i) {
    if (i % 2 == 0) {
      Plain(leaf);
      __asm__ volatile("# keeps the two calls apart");
    } else {
      Plain(leaf);
    }
  }
  ASSERT_EQ(captured.size(), 6u);
  EXPECT_NE(captured[0].pcs, captured[1].pcs);
  for (size_t i = 2; i < 6; ++i) EXPECT_EQ(captured[i].pcs, captured[i - 2].pcs);
}

// --- Signals -------------------------------------------------------------------------------------

Pair* signal_pair;
volatile sig_atomic_t signals_taken;

void OnSignal(int) {
  CaptureBoth(signal_pair);
  signals_taken = signals_taken + 1;
}

// Installs OnSignal during a test.
class SignalHandler {
 public:
  explicit SignalHandler(int number, int flags = 0) : number_(number) {
    InstallHandler(number, OnSignal, flags, &old_);
    signals_taken = 0;
  }
  ~SignalHandler() { sigaction(number_, &old_, nullptr); }

 private:
  int number_;
  struct sigaction old_ {};
};

TEST_F(Capturing, WalksThroughASignalFrame) {
  Pair pair;
  signal_pair = &pair;
  const SignalHandler handler(SIGUSR1);
  for (int i = 0; i < 3; ++i) {
    raise(SIGUSR1);
    EXPECT_EQ(pair.Difference(), "");
    EXPECT_EQ(pair.end, StackEnd::kComplete);
  }
  EXPECT_EQ(signals_taken, 3);
}

// A function that calls nothing need not save its return address (AArch64), nor have a frame.
[[gnu::noinline]] void SpinUntilSignalled() {
  while (signals_taken == 0) {
  }
}

TEST_F(Capturing, WalksFromAnInterruptedLeafFunction) {
  if (kSanitized) GTEST_SKIP() << "sanitizers defer signals";
  Pair pair;
  signal_pair = &pair;
  const auto leaf = reinterpret_cast<uint64_t>(&SpinUntilSignalled);
  const uint64_t* in_leaf = pair.ours;
  do {  // until the signal comes when the function is entered, and not before
    const SignalHandler handler(SIGALRM);
    ualarm(1000, 0);
    SpinUntilSignalled();
    in_leaf = std::find_if(pair.ours, pair.ours + pair.our_depth,
                           [&](uint64_t pc) { return pc > leaf && pc - leaf < 64; });
  } while (in_leaf == pair.ours + pair.our_depth);
  EXPECT_EQ(pair.Difference(), "");
  EXPECT_EQ(pair.end, StackEnd::kComplete) << pair.Text();
  const std::vector<uint64_t> here = Capture().pcs;
  ASSERT_GT(pair.ours + pair.our_depth - in_leaf, 2) << pair.Text();
  EXPECT_EQ(
      std::vector<uint64_t>(in_leaf + 2, static_cast<const uint64_t*>(pair.ours) + pair.our_depth),
      std::vector<uint64_t>(here.begin() + 1, here.end()));
}

// The signal may interrupt any instruction: in prologues, leaf functions, PLT entries and the vdso.
TEST_F(Capturing, EqualsLibunwindAtAnyInterruptedInstruction) {
  if (kSanitized) GTEST_SKIP() << "sanitizers defer signals";
  constexpr int kSamples = 400;
  const std::vector<uint64_t> callers = [] {
    std::vector<uint64_t> pcs = Capture().pcs;
    pcs.erase(pcs.begin(), pcs.begin() + 2);  // this function and the test
    return pcs;
  }();
  std::vector<Pair> pairs(kSamples);
  signal_pair = pairs.data();
  const SignalHandler handler(SIGPROF);
  const itimerval interval{{0, 1000}, {0, 1000}};
  ASSERT_EQ(setitimer(ITIMER_PROF, &interval, nullptr), 0);
  volatile uint64_t sink = 0;
  for (int taken = 0; taken < kSamples; taken = signals_taken) {
    signal_pair = &pairs[taken];
    for (int i = 0; i < 50; ++i) {
      timespec now{};
      clock_gettime(CLOCK_MONOTONIC, &now);
      char text[32];
      sink = sink + static_cast<uint64_t>(snprintf(text, sizeof(text), "%ld", now.tv_nsec)) +
             strtoull(text, nullptr, 10);
    }
  }
  const itimerval stop{};
  setitimer(ITIMER_PROF, &stop, nullptr);

  const auto vdso = getauxval(AT_SYSINFO_EHDR);
  int different = 0;
  int truncated = 0;
  int in_vdso = 0;
  for (const Pair& pair : pairs) {
    if (pair.our_depth == 0) continue;  // two signals for one slot
    for (int i = 0; i < pair.our_depth; ++i) in_vdso += pair.ours[i] - vdso < 0x4000 ? 1 : 0;
    // A stack may be truncated (the resolver of lazy binding needs rbx), but it must not be wrong.
    if (pair.end == StackEnd::kUnsupportedRule || MayEndAfterSignal(pair.end)) {
      ++truncated;
      continue;
    }
    if (!pair.Difference().empty() && ++different < 3) ADD_FAILURE() << pair.Difference();
    const std::vector<uint64_t> ours(pair.ours, pair.ours + pair.our_depth);
    if (ours.size() < callers.size() ||
        !std::equal(callers.rbegin(), callers.rend(), ours.rbegin())) {
      if (++different < 3) ADD_FAILURE() << "does not lead to the test\n" << pair.Text();
    }
  }
  EXPECT_EQ(different, 0);
  EXPECT_LT(truncated, kSamples / 2);
  RecordProperty("samples_in_vdso", in_vdso);
}

// --- Stacks that are not the thread's ------------------------------------------------------------

TEST_F(Capturing, ReturnsOneAddressOnAnAlternateSignalStack) {
  Pair pair;
  signal_pair = &pair;
  std::vector<char> memory(1 << 20);
  const stack_t alternate{memory.data(), 0, memory.size()};
  stack_t old{};
  ASSERT_EQ(sigaltstack(&alternate, &old), 0);
  {
    const SignalHandler handler(SIGUSR1, SA_ONSTACK);
    raise(SIGUSR1);
  }
  ASSERT_EQ(sigaltstack(&old, nullptr), 0);
  EXPECT_EQ(pair.our_depth, 1);
  EXPECT_EQ(pair.end, StackEnd::kForeignStack);
  pair.their_depth = 2;
  EXPECT_EQ(pair.Difference(), "");
}

ucontext_t main_context;
ucontext_t coroutine_context;
Captured in_coroutine;

TEST_F(Capturing, ReturnsOneAddressInACoroutine) {
  if (kThreadSanitizer) GTEST_SKIP() << "TSan has its own rules for coroutines";
  for (const bool in_thread : {false, true}) {
    const auto run = [] {
      std::vector<char> memory(1 << 20);
      getcontext(&coroutine_context);
      coroutine_context.uc_stack.ss_sp = memory.data();
      coroutine_context.uc_stack.ss_size = memory.size();
      coroutine_context.uc_link = &main_context;
      makecontext(
          &coroutine_context, +[] { in_coroutine = Capture(); }, 0);
      swapcontext(&main_context, &coroutine_context);
    };
    for (int i = 0; i < 10; ++i) {
      in_coroutine = {};
      if (in_thread) {
        std::thread(run).join();
      } else {
        run();
      }
      EXPECT_EQ(in_coroutine.pcs.size(), 1u);
      EXPECT_EQ(in_coroutine.end, StackEnd::kForeignStack);
    }
  }
}

// --- Code without unwind info --------------------------------------------------------------------

Captured captured_for_jit;
void CaptureForJit() { captured_for_jit = Capture(); }

// A frame as of a JIT compiler, whose frame pointer the walker must not use without reporting it.
TEST_F(Capturing, EndsAtCodeWithoutUnwindInfo) {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  std::memcpy(page, kJitCode, sizeof(kJitCode));
  __builtin___clear_cache(static_cast<char*>(page), static_cast<char*>(page) + sizeof(kJitCode));
  ASSERT_EQ(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
  for (int i = 0; i < 3; ++i) {
    reinterpret_cast<void (*)(void (*)())>(page)(CaptureForJit);
    const Captured& captured = captured_for_jit;
    ASSERT_EQ(captured.pcs.size(), 2u);
    EXPECT_EQ(captured.pcs[1], reinterpret_cast<uint64_t>(page) + kJitReturn);
    EXPECT_EQ(captured.end, StackEnd::kNoUnwindInfo);
  }
  munmap(page, 4096);
}

// A frame whose saved frame pointer was overwritten: for no value may the walker read outside.
[[gnu::noinline]] void BrokenFrame(uint64_t value, Captured* captured) {
  auto* frame = static_cast<uint64_t*>(__builtin_frame_address(0));
  const uint64_t saved = frame[0];
  frame[0] = value;
  __asm__ volatile("" ::: "memory");
  *captured = Capture();
  __asm__ volatile("" ::: "memory");
  frame[0] = saved;
  __asm__ volatile("" ::: "memory");  // not a dead store
}
[[gnu::noinline]] void ByFramePointer(uint64_t value, Captured* captured) {
  volatile char* room = static_cast<char*>(alloca(value % 64 + 1));
  room[0] = 1;
  BrokenFrame(value, captured);
  room[0] = 2;
}

TEST_F(Capturing, ReadsNothingOutsideTheStack) {
  if (kAddressSanitizer) GTEST_SKIP() << "the frame that is broken on purpose is ASan's too";
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{1}, uint64_t{8}, here - 100000, here + 1, here + (uint64_t{1} << 30),
        ~uint64_t{0}, ~uint64_t{15}, uint64_t{1} << 47, uint64_t{1} << 63}) {
    Captured captured;
    ByFramePointer(value, &captured);
    EXPECT_EQ(captured.pcs.size(), 2u) << value;
    EXPECT_EQ(captured.end, StackEnd::kBadFrame) << value;
  }
}

// libunwind 1.6.2 does not know signed return addresses, so the reference is a function that
// differs in nothing else. Both are called from one place.
#if defined(__aarch64__)
Captured captured_below;
uint64_t stored_address;

void CaptureBelow(const Leaf* is_signed) {
  captured_below = Capture();
  const auto* record = static_cast<const uint64_t* const*>(__builtin_frame_address(0));
  if (is_signed != nullptr) stored_address = record[0][1];
}

TEST_F(Capturing, RemovesTheSignatureOfReturnAddresses) {
  const Leaf unused;
  std::vector<uint64_t> callers[2];
  for (int i = 0; i < 2; ++i) {
    (i == 0 ? rollcall_test_spoil : rollcall_test_sign)(CaptureBelow, i == 0 ? nullptr : &unused);
    const Captured& captured = captured_below;
    EXPECT_EQ(captured.end, StackEnd::kComplete);
    ASSERT_GT(captured.pcs.size(), 3u);
    callers[i].assign(captured.pcs.begin() + 2, captured.pcs.end());
  }
  EXPECT_EQ(callers[0], callers[1]);
  if (stored_address == callers[0][0]) GTEST_SKIP() << "this processor does not sign addresses";
  EXPECT_EQ(stored_address << 16, callers[0][0] << 16);
}
#endif

// A frame whose CFA is stored in a word below its frame pointer, as in gcc's realigned frames: here
// the overwritten frame pointer itself determines the address to read.
#if defined(__x86_64__)
__asm__(R"(
  .text
  .type rollcall_test_indirect, @function
rollcall_test_indirect:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset rbp, -16
  movq %rsp, %rbp
  leaq 16(%rbp), %rax
  pushq %rax
  .cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06   # CFA = *(rbp - 8)
  .cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00   # rbp at rbp + 0
  subq $8, %rsp
  callq *%rdx
  leave
  .cfi_def_cfa rsp, 8
  .cfi_restore rbp
  ret
  .cfi_endproc
  .size rollcall_test_indirect, . - rollcall_test_indirect
)");
extern "C" void rollcall_test_indirect(uint64_t value, Captured* captured,
                                       void (*call)(uint64_t, Captured*));

TEST_F(Capturing, DoesNotReadACfaOutsideTheStack) {
  if (kAddressSanitizer) GTEST_SKIP() << "the frame that is broken on purpose is ASan's too";
  Captured whole;
  rollcall_test_indirect(
      0, &whole, +[](uint64_t, Captured* captured) { *captured = Capture(); });
  EXPECT_EQ(whole.end, StackEnd::kComplete);
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  for (const uint64_t value : {uint64_t{0}, uint64_t{8}, uint64_t{16}, here + 1,
                               here + (uint64_t{1} << 30), ~uint64_t{7}, uint64_t{1} << 47}) {
    Captured captured;
    rollcall_test_indirect(value, &captured, BrokenFrame);
    EXPECT_EQ(captured.pcs.size(), 2u) << value;
    EXPECT_EQ(captured.end, StackEnd::kBadFrame) << value;
  }
}

#endif

TEST_F(Capturing, WalksFromACallAtTheEndOfAFunction) {
  const Leaf leaf = Compare;
  rollcall_test_last_call(CallLeaf, &leaf);
}

}  // namespace
}  // namespace rollcall::shim
