// The bounds of the calling thread's own stack, the only memory that a walk reads.
#ifndef ROLLCALL_SHIM_STACK_THREAD_STACK_H_
#define ROLLCALL_SHIM_STACK_THREAD_STACK_H_

#include <cstdint>

namespace rollcall::shim {

// [low, high): every word from a live stack pointer in it up to `high` is mapped. The initial
// thread's stack grows: its `low` is the lowest address known to be mapped, and GrowStackBounds
// lowers it.
struct StackBounds {
  uint64_t low = 0;
  uint64_t high = 0;
  bool initial_thread = false;
  // Regions of 16 MiB whose addresses are not on the growing stack (the kernel leaves 128 MiB
  // between the stack and other mappings), and how often each was queried. A region is checked
  // again only when that number is a power of two, so that work on a coroutine's stack does not
  // cost a system call each time.
  static constexpr int kRegionBits = 24;
  static constexpr int kRegions = 32;
  uint32_t foreign_region[kRegions] = {};
  uint32_t foreign_times[kRegions] = {};
};

// Looks up the loader's functions. Call it once, before the others. Not async-signal-safe.
void InitThreadStack();

// Makes system calls, may allocate (pthread_getattr_np does). Uses /proc and a descriptor only if
// the loader does not provide the start of the initial stack. Returns empty bounds if unknown.
StackBounds FindStackBounds();

// True if `address`, below bounds->low, is on the initial thread's stack: no page between them is
// missing (mincore(2)). Then lowers `low`. The kernel's guard gap separates other mappings from the
// stack, so a coroutine's stack is never mistaken for it.
bool GrowStackBounds(StackBounds* bounds, uint64_t address);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_THREAD_STACK_H_
