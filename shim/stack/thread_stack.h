// SPDX-License-Identifier: Apache-2.0
// The bounds of the calling thread's own stack, the only memory that a walk reads.
#ifndef ROLLCALL_SHIM_STACK_THREAD_STACK_H_
#define ROLLCALL_SHIM_STACK_THREAD_STACK_H_

#include <cstdint>

namespace rollcall::shim {

// [low, high): if a live stack pointer is in this range, every word from it up to `high` is mapped.
// The initial thread's stack grows: its `low` is the lowest address that is known to be mapped, and
// GrowStackBounds lowers `low`.
struct StackBounds {
  uint64_t low = 0;
  uint64_t high = 0;
  bool initial_thread = false;
  // Regions of 16 MiB whose addresses are not on the growing stack, and how often each was queried.
  // (The kernel leaves 128 MiB between the stack and other mappings.) A region is checked again
  // only when the number of its queries is a power of two, so that calls on a coroutine's stack do
  // not cost a system call each time.
  static constexpr int kRegionBits = 24;
  static constexpr int kRegions = 32;
  uint32_t foreign_region[kRegions] = {};
  uint32_t foreign_times[kRegions] = {};
};

// Looks up the loader's functions. Call it once, before the others. Not async-signal-safe.
void InitThreadStack();

// Returns the bounds of the calling thread's stack; empty bounds if they are unknown. Makes system
// calls, and may allocate (pthread_getattr_np does). Uses /proc and a descriptor only if the loader
// does not provide the start of the initial stack.
StackBounds FindStackBounds();

// Returns true if `address`, which is below bounds->low, is on the initial thread's stack: all
// pages from `address` to bounds->low are mapped (mincore(2)). Then also lowers bounds->low. The
// kernel's guard gap separates other mappings from the stack, so a coroutine's stack is never
// mistaken for the initial thread's.
bool GrowStackBounds(StackBounds* bounds, uint64_t address);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_THREAD_STACK_H_
