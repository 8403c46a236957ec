// SPDX-License-Identifier: Apache-2.0
// Decides which calls are recorded, and tracks nesting: the cases that call_inline.h leaves out.
#include "shim/call_inline.h"
#include "shim/nccl/binding.h"
#include "shim/python/exception.h"

namespace rollcall::shim::calls {

// A collective among the calls may have been rejected without returning its sequence number, so the
// communicator's sequence numbers no longer prove anything (kSawConcurrency).
void Abandon(ThreadLog* log, uint32_t depth) {
  for (uint32_t i = depth; i < ring::kMaxNesting; ++i) {
    ThreadLog::Level& level = log->levels[i];
    StoreRelease(&level.open->lock, uint64_t{0});
    if (level.comm != nullptr) {
      ring::Member* entry = level.comm->entry;
      __atomic_fetch_sub(&entry->in_flight, 1, __ATOMIC_RELAXED);
      __atomic_fetch_or(&entry->flags, static_cast<uint32_t>(ring::kSawConcurrency),
                        __ATOMIC_RELAXED);
      level.comm = nullptr;
    }
  }
  if (depth != 0) return;
  StoreRelease(&log->entry->depth, uint64_t{0});
  log->scratch_used = 0;
}

namespace {

// Returns true if the wrapper that set the guard is still running. The stack grows down, so a call
// inside the wrapper has a lower frame. An equal or higher frame means that a jump left the
// wrapper. A lower frame may also belong to a deeper call after such a jump:
//
//   frame 0x7000   wrapper of MPI_Recv, sets the guard; a longjmp leaves it
//   frame 0x7000   other functions of the program overwrite this part of the stack
//   frame 0x6f00   wrapper of MPI_Send: lower than the guard, but not inside MPI_Recv
//
// Two marks distinguish this case: the word `alive` of the outermost call, and the return address
// of the guard. If both are unchanged, the wrapper counts as running. The marks are read only where
// they are certain to be mapped: on the thread's own stack, above the current frame.
bool IsInsideGuard(const ThreadBlock& block, CallerFrame frame) {
  if (frame.order() >= block.guard.order()) return false;
  const uint64_t guard = block.guard.address();
  StackBounds& stack = block.log->stack;
  if (guard >= stack.high) return true;
  if (guard < stack.low && !(stack.initial_thread && GrowStackBounds(&stack, guard))) return true;
  const Call* outermost = block.outermost;
  return outermost != nullptr && LoadRelaxed(&outermost->alive) == AliveMark(outermost) &&
         ReturnAddress(block.guard) == reinterpret_cast<uint64_t>(block.guard_caller);
}

// True for a local call that the library itself makes. For example, file functions in the library's
// plugins, which are not wrapped, create and free datatypes.
bool IsLibrarysOwn(const Call& call) {
  return IsLocal(call.info->kind) && IsInsideMpi(call.caller);
}

// True for a call of MPI that PyTorch's backend makes for a recorded call of the user
// (torch::IsOwnCall).
bool IsTorchsOwn(const Call& call) {
  const Kind kind = call.info->kind;
  return torch::IsOwnCall(call.caller) && !IsC10d(call.info->operation) && kind != Kind::kInit &&
         kind != Kind::kFinalize && kind != Kind::kAbort;
}

// Returns true if a call inside another one is to be recorded, and then sets its level.
bool EnterInner(Call* call) {
  ThreadBlock& block = t_block;
  if (call->info->kind != Kind::kAbort) {
    // A linked PMPI tool forwards the call to its PMPI_ name.
    if (call->pmpi && !block.outer_is_pmpi && !block.passed_down &&
        block.outer == static_cast<uint16_t>(call->info->operation)) {
      block.passed_down = true;
      return false;
    }
    // c10d implements some of its functions by others, so a c10d call inside another one is not
    // the user's. The exception is a call inside a wait, where a callback of the user may run.
    const OperationInfo& outer = FindOperation(block.outer);
    const bool inside_c10d = IsC10d(outer.operation);
    if (inside_c10d && IsC10d(call->info->operation) && !IsWait(outer.kind)) return false;
    // Both MPI and NCCL implement some functions by others; these inner calls do not count. Calls
    // that user callbacks make (error handlers, attribute deletion) come from user code, and
    // count. PyTorch calls NCCL and CUDA for each operation. These calls are not looked up in the
    // loader's list of objects, because that would cost more than the record.
    if (nccl::IsInsideNccl(call->caller)) return false;
    const bool of_pytorch = inside_c10d && call->library == nccl::NcclLibrary();
    if (!of_pytorch && IsInsideMpi(call->caller)) return false;
    // Calls by which a tool implements a send (such as Isend and Wait) are not counted as
    // messages.
    call->counts = FindOperation(block.outer).rule != Rule::kP2p;
  }
  call->outer = block;
  call->level = block.depth < ring::kMaxNesting ? &block.log->levels[block.depth] : nullptr;
  return true;
}

// Returns true if this call is to be recorded, and then updates the nesting.
bool TryEnter(Call* call) {
  const ThreadBlock& block = t_block;
  const bool guarded = block.guard.record != nullptr;
  const bool inner = guarded && block.log != nullptr && IsInsideGuard(block, call->frame);
  if (inner) {
    if (!EnterInner(call)) return false;
  } else {
    const auto caller = reinterpret_cast<uint64_t>(call->caller);
    if (caller >= call->library->core_start && caller < call->library->core_end &&
        call->info->kind != Kind::kAbort) {
      return false;
    }
    if (IsLibrarysOwn(*call) || IsTorchsOwn(*call)) return false;
  }
  ThreadLog* log = CurrentLog();
  if (log == nullptr) return false;
  if (!inner && guarded) Abandon(log, 0);
  Enter(call, log, inner);
  return true;
}

}  // namespace

bool OpenUnusual(Call* call) {
  const Kind kind = call->info->kind;
  // The check is not made in MPI_Abort, which signal handlers call, and not inside another call.
  if (python::WantsCheck() && t_block.depth == 0 && kind != Kind::kAbort) python::TryCheck();
  if (kind == Kind::kFinalize && t_block.depth == 0) python::NoteUncaughtException();
  if (!StartWriting(call)) return false;
  if (TryEnter(call)) return true;
  CloseBracket();
  return false;
}

Call* EnclosingCall(CallerFrame frame) {
  const ThreadBlock& block = t_block;
  if (block.guard.record == nullptr || block.log == nullptr) return nullptr;
  return IsInsideGuard(block, frame) ? block.outermost : nullptr;
}

}  // namespace rollcall::shim::calls
