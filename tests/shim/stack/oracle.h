// SPDX-License-Identifier: Apache-2.0
// The reference for the stack walker: libunwind, which is loaded as late and as privately as the
// shim would have to load it.
#ifndef ROLLCALL_TESTS_SHIM_STACK_ORACLE_H_
#define ROLLCALL_TESTS_SHIM_STACK_ORACLE_H_

#include <dlfcn.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "shim/stack/stack.h"

namespace rollcall::shim {

using Backtrace = int (*)(void**, int);

// Returns libunwind's unw_backtrace, or null if it is not installed.
inline Backtrace Libunwind() {
  static const auto function = [] {
    void* library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Backtrace>(library ? dlsym(library, "unw_backtrace") : nullptr);
  }();
  return function;
}

// qemu-user, which does not reuse addresses, and up to version 8.1 has no vDSO for AArch64.
inline const bool kEmulated = arch::kLinkRegister && getauxval(AT_SYSINFO_EHDR) == 0;

// Whether a stack may end this way if a signal interrupted the first look-up of an address, or, on
// AArch64, an entry of the PLT, for which linkers write no CFI there.
inline bool MayEndAfterSignal(StackEnd end) {
  return end == StackEnd::kInterrupted || (arch::kLinkRegister && end == StackEnd::kNoUnwindInfo);
}

struct Captured {
  std::vector<uint64_t> pcs;
  StackEnd end = StackEnd::kNone;
  uint64_t hash = 0;
};

// The results of both walkers on the stack of the caller. It allocates nothing, so that it also
// works in a signal handler.
struct Pair {
  uint64_t ours[kMaxStackDepth];
  int our_depth = 0;
  StackEnd end = StackEnd::kNone;
  uint64_t hash = 0;
  void* theirs[2 * kMaxStackDepth];
  int their_depth = 0;

  // Returns both stacks, or nothing if they are equal. libunwind's first address is in CaptureBoth.
  std::string Difference() const {
    const int expected = std::min(their_depth - 1, kMaxStackDepth);
    bool same = our_depth == expected || (our_depth > expected && OursAloneGoesOn());
    for (int i = 0; same && i < expected; ++i) {
      const uint64_t difference = ours[i] - reinterpret_cast<uint64_t>(theirs[i + 1]);
      // On AArch64, libunwind 1.6.2 subtracts 1 from return addresses.
      same = difference == 0 || (arch::kLinkRegister && difference == 1);
    }
    return same ? "" : Text();
  }

  // On AArch64, libunwind 1.6.2 ends at an interrupted function whose return address is still in
  // the register. Its last address is then exact, as those of interrupted functions are.
  bool OursAloneGoesOn() const {
    return arch::kLinkRegister && their_depth > 1 &&
           ours[their_depth - 2] == reinterpret_cast<uint64_t>(theirs[their_depth - 1]);
  }

  std::string Text() const {
    std::string text = "end " + std::to_string(static_cast<int>(end)) + "\n";
    const int shown = std::max(our_depth, their_depth - 1);
    for (int i = 0; i < shown; ++i) {
      const uint64_t our = i < our_depth ? ours[i] : 0;
      const uint64_t their = i + 1 < their_depth ? reinterpret_cast<uint64_t>(theirs[i + 1]) : 0;
      Dl_info info{};
      if (dladdr(reinterpret_cast<void*>(their), &info) == 0) info.dli_fname = "?";
      text += "#" + std::to_string(i) + " ours " + std::to_string(our) + " theirs " +
              std::to_string(their) + " " + (info.dli_fname ? info.dli_fname : "?") + " " +
              (info.dli_sname ? info.dli_sname : "?") + "\n";
    }
    return text;
  }
};

[[gnu::noinline]] inline void CaptureBoth(Pair* pair) {
  pair->our_depth =
      CaptureStack(ROLLCALL_CALLER_FRAME(), pair->ours, kMaxStackDepth, &pair->end, &pair->hash);
  pair->their_depth = Libunwind()(pair->theirs, 2 * kMaxStackDepth);
  __asm__ volatile("" ::: "memory");  // prevents a tail call: libunwind must see this frame
}

[[gnu::noinline]] inline Captured Capture(int max_depth = kMaxStackDepth) {
  Captured captured;
  uint64_t pcs[kMaxStackDepth];
  const int depth =
      CaptureStack(ROLLCALL_CALLER_FRAME(), pcs, max_depth, &captured.end, &captured.hash);
  captured.pcs.assign(pcs, pcs + depth);
  return captured;
}

// The code to which signal handlers return is in the C library (x86-64) or the vDSO (AArch64). An
// emulator without a vDSO puts it where no module is, so that no stack leads through it; handlers
// then return to this copy, which has no CFI either.
#if defined(__aarch64__)
__asm__(R"(
  .pushsection .text.rollcall_test_sigreturn, "axG", %progbits, rollcall_test_sigreturn, comdat
  .weak rollcall_test_sigreturn
  nop
rollcall_test_sigreturn:
  mov x8, #139
  svc #0
  .popsection
)");
extern "C" void rollcall_test_sigreturn();
#else
inline void rollcall_test_sigreturn() {}
#endif

inline void InstallHandler(int number, void (*handler)(int), int flags, struct sigaction* old) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(number, &action, old);
  if (!kEmulated) return;
  const struct {  // as the kernel has it
    void (*handler)(int);
    uint64_t flags;
    void (*restorer)();
    uint64_t mask;
  } emulated = {handler, static_cast<uint64_t>(flags) | 0x04000000 /* SA_RESTORER */,
                rollcall_test_sigreturn, 0};
  syscall(SYS_rt_sigaction, number, &emulated, nullptr, sizeof(emulated.mask));
}

}  // namespace rollcall::shim

#endif  // ROLLCALL_TESTS_SHIM_STACK_ORACLE_H_
