// Where the calling thread's own stack lies: the only memory that a walk reads.
#ifndef ROLLCALL_SHIM_STACK_THREAD_STACK_H_
#define ROLLCALL_SHIM_STACK_THREAD_STACK_H_

#include <cstdint>

namespace rollcall::shim {

// [low, high): every word from a live stack pointer in it up to `high` is mapped. The initial
// thread's stack grows: its `low` is how far down it was seen mapped, and GrowStackBounds lowers
// it.
struct StackBounds {
  uint64_t low = 0;
  uint64_t high = 0;
  bool initial_thread = false;
  // Where addresses turned out not to be on the growing stack, by regions of 16 MiB (the kernel
  // leaves 128 MiB between the stack and its other mappings), and how often each was asked for: it
  // is looked at again at powers of two only, so that work on a coroutine's stack does not cost a
  // system call a time.
  static constexpr int kRegionBits = 24;
  static constexpr int kRegions = 32;
  uint32_t foreign_region[kRegions] = {};
  uint32_t foreign_times[kRegions] = {};
};

// Finds what the loader offers; once, before the others. Not async-signal-safe.
void InitThreadStack();

// Makes system calls, may allocate (pthread_getattr_np does). No /proc, no descriptor but where the
// loader does not say where the initial stack begins. Empty bounds where nothing is known.
StackBounds FindStackBounds();

// Whether `address`, below bounds->low, is on the initial thread's stack after all: no page between
// is missing (mincore(2)); then lowers `low`. Any other mapping is kept apart from the stack by the
// kernel's guard gap, so a coroutine's stack is never taken for it.
bool GrowStackBounds(StackBounds* bounds, uint64_t address);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_THREAD_STACK_H_
