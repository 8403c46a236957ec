// SPDX-License-Identifier: Apache-2.0
// Everything that depends on the processor. Each supported processor has a block here. On other
// processors, captures end with kUnsupportedArch.
#ifndef ROLLCALL_SHIM_STACK_ARCH_H_
#define ROLLCALL_SHIM_STACK_ARCH_H_

#include <cstdint>

namespace rollcall::shim {

#if defined(__x86_64__)

// The starting point of a walk (ROLLCALL_CALLER_FRAME in stack.h): a function's frame record, in
// which [0] is its caller's frame pointer and [1] the return address.
struct CallerFrame {
  const void* record;

  // Nested calls compare lower; calls from the same place are equal.
  const void* order() const { return record; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(record); }
  uint64_t sp() const { return address() + 16; }  // the caller's, after the return
  uint64_t key() const { return address(); }      // identifies address() and sp()
};
#define ROLLCALL_FRAME_OF_FUNCTION() (::rollcall::shim::CallerFrame{__builtin_frame_address(0)})

namespace arch {

inline constexpr bool kSupported = true;

// DWARF register numbers: System V AMD64 psABI, figure 3.36.
inline constexpr uint64_t kDwarfFp = 6;   // rbp
inline constexpr uint64_t kDwarfSp = 7;   // rsp
inline constexpr uint64_t kDwarfPc = 16;  // return address column

// The call instruction stores the return address below the CFA.
inline constexpr bool kLinkRegister = false;

// The C library's code to which a signal handler returns has CFI.
inline constexpr uint64_t kSigreturnCode = 0;
inline constexpr int kSignalFpSlot = 0;
inline constexpr int kSignalSp = 0;
inline constexpr int kSignalPcSlot = 0;

// User addresses have 47 bits (57 only if a program requests them from mmap by a hint); the rule
// table uses the other bits of the word.
inline constexpr int kPcBits = 47;
inline constexpr int kPcSlotBits = 8;  // of a Rule; the frame pointer's slot has 24 less these

// Loads one stack word. Written in assembly, so that no sanitizer reports the read of another
// function's frame. An attribute would have to be repeated on each function into which this one is
// inlined.
inline uint64_t LoadWord(uint64_t address) {
  uint64_t word;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  __asm__("movq %1, %0" : "=r"(word) : "m"(*reinterpret_cast<const uint64_t*>(address)));
  return word;
}
inline uint64_t LoadReturnAddress(uint64_t address) { return LoadWord(address); }

}  // namespace arch

#elif defined(__aarch64__) && !defined(__clang__)

// The frame record may lie anywhere in the frame (AAPCS64, "The Frame Pointer"); gcc puts it below
// the local variables. The caller's stack pointer, which is the function's CFA, is therefore stored
// as well. clang is not supported, because its __builtin_dwarf_cfa() returns another value here.
struct CallerFrame {
  const void* record;
  const void* cfa;

  const void* order() const { return cfa; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(record); }
  uint64_t sp() const { return reinterpret_cast<uint64_t>(cfa); }
  uint64_t key() const { return address() | (sp() - address()) << 48; }
};
#define ROLLCALL_FRAME_OF_FUNCTION() \
  (::rollcall::shim::CallerFrame{__builtin_frame_address(0), __builtin_dwarf_cfa()})

namespace arch {

inline constexpr bool kSupported = true;

// DWARF for the Arm 64-bit Architecture (AADWARF64), "DWARF register names". The return address
// column is x30.
inline constexpr uint64_t kDwarfFp = 29;
inline constexpr uint64_t kDwarfSp = 31;
inline constexpr uint64_t kDwarfPc = 30;

// A call leaves the return address in x30, which the callee may save anywhere in its frame.
inline constexpr bool kLinkRegister = true;

// User addresses have up to 48 bits (52 only if a program requests them from mmap by a hint):
// Linux, Documentation/arch/arm64/memory.rst.
inline constexpr int kPcBits = 48;
inline constexpr int kPcSlotBits = 12;

inline uint64_t LoadWord(uint64_t address) {
  uint64_t word;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  __asm__("ldr %0, %1" : "=r"(word) : "m"(*reinterpret_cast<const uint64_t*>(address)));
  return word;
}
// A return address may be signed (AADWARF64, "Call frame instructions"). `hint #7` is XPACLRI: it
// removes the signature from x30, does not change an address without a signature, and is a nop on
// processors without pointer authentication. The walker therefore need not know which functions
// sign.
inline uint64_t LoadReturnAddress(uint64_t address) {
  register uint64_t word __asm__("x30") = LoadWord(address);
  __asm__("hint #7" : "+r"(word));
  return word;
}

// The code to which a signal handler returns: `mov x8, #__NR_rt_sigreturn; svc #0`. The kernel's
// vDSO has no CFI for this code, on purpose (Linux, arch/arm64/kernel/vdso/sigreturn.S): unwinders
// recognise the instructions. There, the stack pointer points to struct rt_sigframe
// (arch/arm64/kernel/signal.c): siginfo, 128 bytes; ucontext, with its sigcontext at 176
// (uapi/asm/ucontext.h, sigcontext.h).
inline constexpr uint64_t kSigreturnCode = 0xd4000001'd2801168;
inline constexpr int kRegistersOfSignal = 128 + 176 + 8;  // x0 to x30, sp, pc
inline constexpr int kSignalFpSlot = kRegistersOfSignal / 8 + 29;
inline constexpr int kSignalSp = kRegistersOfSignal + 31 * 8;
inline constexpr int kSignalPcSlot = kRegistersOfSignal / 8 + 32;

}  // namespace arch

#else

struct CallerFrame {
  const void* record;

  const void* order() const { return record; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(record); }
  uint64_t sp() const { return address(); }
  uint64_t key() const { return address(); }
};
#define ROLLCALL_FRAME_OF_FUNCTION() (::rollcall::shim::CallerFrame{__builtin_frame_address(0)})

namespace arch {

inline constexpr bool kSupported = false;
inline constexpr uint64_t kDwarfFp = ~0ull;
inline constexpr uint64_t kDwarfSp = ~0ull;
inline constexpr uint64_t kDwarfPc = ~0ull;
inline constexpr bool kLinkRegister = false;
inline constexpr uint64_t kSigreturnCode = 0;
inline constexpr int kSignalFpSlot = 0;
inline constexpr int kSignalSp = 0;
inline constexpr int kSignalPcSlot = 0;
inline constexpr int kPcBits = 47;
inline constexpr int kPcSlotBits = 8;
inline uint64_t LoadWord(uint64_t) { return 0; }
inline uint64_t LoadReturnAddress(uint64_t) { return 0; }

}  // namespace arch

#endif

inline uint64_t ReturnAddress(CallerFrame frame) {
  return arch::LoadReturnAddress(frame.address() + 8);
}

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_ARCH_H_
