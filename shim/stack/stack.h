// SPDX-License-Identifier: Apache-2.0
// The native call stack of the thread that called an MPI or NCCL function: return addresses only,
// to be symbolized elsewhere and later.
//
// Here, the CFI rules of .eh_frame are interpreted once for each call site (cfi.h, modules.h) and
// kept in a lock-free table (rule_cache.h). A capture then reads one table entry and one stack word
// per frame. A repeated stack is recognised by comparing those words only (memo.h).
//
// libunwind is not used, for these reasons:
//   - unw_backtrace of libunwind 1.6.2 keeps a pipe open and writes into it. After closefrom(3) by
//     the application, the descriptor may be a file of the user.
//   - unw_backtrace crashes when a library is unloaded and another one takes its place.
//   - The safe interface of libunwind takes 8 to 30 us per stack.
//   - Even as a source of rules, libunwind needs a library, a descriptor and memory from malloc.
//     Reading the mapped .eh_frame needs none of them.
// A test compares the result with libunwind's on real stacks.
//
// Two types of frames are not walked: code without an FDE in a loaded module's .eh_frame (JIT code,
// even if registered by __register_frame), and frames whose CFA depends on registers other than the
// stack and frame pointers. The walker does not guess by frame pointers: the stack ends there, with
// the reason as its StackEnd.
#ifndef ROLLCALL_SHIM_STACK_STACK_H_
#define ROLLCALL_SHIM_STACK_STACK_H_

#include <cstdint>

#include "proto/ring_format.h"
#include "shim/stack/arch.h"

namespace rollcall::shim {

inline constexpr int kMaxStackDepth = 64;

// Why a stack ends. Defined in proto/ring_format.h, because rings store the value.
using StackEnd = ring::StackEnd;

// Verdicts about call paths use complete stacks only.
constexpr bool IsComplete(StackEnd end) { return end == StackEnd::kComplete; }

// The starting point of a walk: the frame of the function in which this is expanded. Expand it in
// the exported wrapper itself, or in a function that is always inlined into it.
// __builtin_frame_address makes the wrapper keep its frame pointer in the register, so that no
// frame of the shim needs unwinding. Such a function must have no variable aligned to more than 16
// bytes (its frame would be realigned).
#define ROLLCALL_CALLER_FRAME() ROLLCALL_FRAME_OF_FUNCTION()
// To be written after the last call that gets the frame. Without it, the compiler may make a tail
// call of that call: the frame is then given up before the walk, which finds one frame only.
#define ROLLCALL_KEEP_FRAME() asm volatile("")

// Reserves the rule table (256 KiB of address space; used memory grows with the call sites seen).
// Call it when MPI or NCCL is initialised, never before. May be called again and by several
// threads. False: no memory; captures then return nothing. Not async-signal-safe.
bool InitStacks();

// Writes the return addresses of the calling thread, innermost (the one in the wrapper's caller)
// first, to pcs[0..max_depth) and returns their number. max_depth is limited to kMaxStackDepth.
//   *end   why the stack ends where it does.
//   *hash  64 bits over the addresses and *end. It differs between processes, as the addresses do,
//          and identifies a call path within one process only.
// Keeps errno. If all addresses were seen before: no allocation, lock or system call, and no read
// outside the thread's own stack and our tables. The first capture of a thread maps a block of
// memory for the thread, which is freed when the thread ends. The first sight of an address takes
// the dynamic loader's lock (dl_iterate_phdr). May be called in a signal handler that interrupted a
// capture of the same thread.
int CaptureStack(CallerFrame frame, uint64_t* pcs, int max_depth, StackEnd* end, uint64_t* hash);

// The hash that CaptureStack() would return, if it captured the same stack before and remembers it;
// otherwise 0. No allocation, lock or system call. May be called in a signal handler.
uint64_t RecallStack(CallerFrame frame, int max_depth);

// Forgets all rules, so that a library that is loaded at the same address gets rules of its own.
// Call it before and after the real dlclose, as stack/dlclose_wrap.cc does for the application's
// calls. Any thread, any time.
//
// Other unloads (by libc itself, or by a dlclose that bypassed the wrapper) change the loader's
// count of unloads. The count is checked when an address is seen for the first time. Until then, a
// stale rule can give a wrong address, but never causes a read outside the stack.
void OnDlclose();

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_STACK_H_
