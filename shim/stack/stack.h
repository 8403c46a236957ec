// The native call stack of the thread that called an MPI or NCCL function: return addresses only,
// to be symbolized elsewhere and later.
//
// libunwind is not used for several reasons. unw_backtrace of libunwind 1.6.2 keeps a pipe open and
// writes into it, although after the application's closefrom(3) the descriptor may be the user's
// file; and it crashes when a library is unloaded and another one takes its place. Its safe
// interface takes 8 to 30 us per stack. Here, the CFI rules of .eh_frame are interpreted once for
// each call site (cfi.h, modules.h) and kept in a lock-free table (rule_cache.h). A capture then
// needs one table entry and one stack word per frame, and a repeated stack is recognised by
// comparing only those words (memo.h). Reading the mapped .eh_frame directly needs no library, no
// descriptor and no memory from malloc; libunwind would need them even as a source of rules. A test
// compares the result with libunwind's on real stacks.
//
// Two types of frames are not walked: code without an FDE in a loaded module's .eh_frame (JIT; also
// if registered by __register_frame), and frames whose CFA depends on registers other than the
// stack and frame pointers. The walker does not guess by frame pointers: the stack ends, and
// StackEnd says why.
#ifndef ROLLCALL_SHIM_STACK_STACK_H_
#define ROLLCALL_SHIM_STACK_STACK_H_

#include <cstdint>

#include "proto/ring_format.h"
#include "shim/stack/arch.h"

namespace rollcall::shim {

inline constexpr int kMaxStackDepth = 64;

// Why a stack ends: proto/ring_format.h has the list, since rings store the value.
using StackEnd = ring::StackEnd;

// A cut stack never supports a verdict about call paths; only a complete one does.
constexpr bool IsComplete(StackEnd end) { return end == StackEnd::kComplete; }

// The starting point of a walk: the frame of the function in which this is expanded. Expand it in
// the exported wrapper itself, or in a function that is always inlined into it.
// __builtin_frame_address makes the wrapper keep its frame pointer in the register, so that no
// frame of the shim needs unwinding. Such a function must have no variable aligned to more than 16
// bytes (its frame would be realigned).
#define ROLLCALL_CALLER_FRAME() ROLLCALL_FRAME_OF_FUNCTION()

// Reserves the rule table (256 KiB of address space; used memory grows with the call sites seen).
// Call it when MPI or NCCL is initialised, never before. May be called again and by several
// threads. False: no memory; captures then return nothing. Not async-signal-safe.
bool InitStacks();

// Writes the return addresses of the calling thread, innermost (the one in the wrapper's caller)
// first, to pcs[0..max_depth) and returns their number. max_depth is limited to kMaxStackDepth.
//   *end   why the stack ends where it does.
//   *hash  64 bits over the addresses and *end. Like the addresses, it differs between processes
//   and
//          identifies a call path within one process only.
// Keeps errno. If all addresses were seen before: no allocation, lock, system call, or read outside
// the thread's own stack and our tables. The first capture of a thread maps its block (freed when
// the thread ends); the first sight of an address takes the dynamic loader's lock, by
// dl_iterate_phdr. May be called in a signal handler that interrupted a capture of the same thread.
int CaptureStack(CallerFrame frame, uint64_t* pcs, int max_depth, StackEnd* end, uint64_t* hash);

// Forgets all rules, so that a library loaded at the same address gets its own. Call it before and
// after the real dlclose. Any thread, any time. stack/dlclose_wrap.cc does so for the application's
// calls. Other unloads (by libc itself, or by a dlclose that bypassed the wrapper) are detected by
// the loader's count of unloads at the next first sight of an address; until then a stale rule can
// give a wrong address, but never a read outside the stack.
void OnDlclose();

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_STACK_H_
