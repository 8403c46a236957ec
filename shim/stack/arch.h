// Everything that depends on the processor. Another one (AArch64: return address in a register,
// signed pointers) needs a block of its own here; without it, captures end with kUnsupportedArch.
#ifndef ROLLCALL_SHIM_STACK_ARCH_H_
#define ROLLCALL_SHIM_STACK_ARCH_H_

#include <cstdint>

namespace rollcall::shim::arch {

#if defined(__x86_64__)

inline constexpr bool kSupported = true;

// DWARF register numbers: System V AMD64 psABI, figure 3.36.
inline constexpr uint64_t kDwarfFp = 6;   // rbp
inline constexpr uint64_t kDwarfSp = 7;   // rsp
inline constexpr uint64_t kDwarfPc = 16;  // return address column

// User addresses have 47 bits (57 only if a program requests them from mmap by a hint); the rule
// table uses the other bits of the word.
inline constexpr int kPcBits = 47;

// Loads one stack word. In assembly, so that no sanitizer reports the read of another function's
// frame; an attribute would have to be repeated on each function that this is inlined into.
inline uint64_t LoadWord(uint64_t address) {
  uint64_t word;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  __asm__("movq %1, %0" : "=r"(word) : "m"(*reinterpret_cast<const uint64_t*>(address)));
  return word;
}

// A function with a frame pointer: [frame] is the caller's rbp, [frame + 8] the return address.
inline constexpr uint64_t kReturnAddressInFrame = 8;
inline constexpr uint64_t kFrameToSp = 16;  // to the caller's rsp after the return

#else

inline constexpr bool kSupported = false;
inline constexpr uint64_t kDwarfFp = ~0ull;
inline constexpr uint64_t kDwarfSp = ~0ull;
inline constexpr uint64_t kDwarfPc = ~0ull;
inline constexpr int kPcBits = 47;
inline uint64_t LoadWord(uint64_t) { return 0; }
inline constexpr uint64_t kReturnAddressInFrame = 8;
inline constexpr uint64_t kFrameToSp = 16;

#endif

}  // namespace rollcall::shim::arch

#endif  // ROLLCALL_SHIM_STACK_ARCH_H_
