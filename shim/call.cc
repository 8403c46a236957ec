// SPDX-License-Identifier: Apache-2.0
// Begin and End of every recorded call: decides which calls are recorded, and tracks nesting.
#include "shim/call.h"

#include "shim/nccl/binding.h"
#include "shim/process.h"
#include "shim/python/check.h"
#include "shim/python/exception.h"
#include "shim/torch/binding.h"

namespace rollcall::shim {
namespace {

// A longjmp or an exception left wrappers of this thread without their End: closes their open
// calls. A collective among them may have been rejected without returning its sequence number, so
// the communicator's sequence numbers no longer prove anything (kSawConcurrency).
ROLLCALL_COLD void Abandon(ThreadLog* log) {
  for (uint32_t level = 0; level < ring::kMaxNesting; ++level) {
    StoreRelease(&log->entry->open[level].record.lock, uint64_t{0});
    if (Comm* comm = log->open_comm[level]) {
      __atomic_fetch_sub(&comm->entry->in_flight, 1, __ATOMIC_RELAXED);
      __atomic_fetch_or(&comm->entry->flags, static_cast<uint32_t>(ring::kSawConcurrency),
                        __ATOMIC_RELAXED);
      log->open_comm[level] = nullptr;
    }
  }
  StoreRelease(&log->entry->depth, uint64_t{0});
  log->scratch_used = 0;
}

constexpr uint64_t kAlive = 0x726f6c6c63616c6c;
uint64_t AliveMark(const Call* call) { return kAlive ^ reinterpret_cast<uint64_t>(call); }

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
ROLLCALL_COLD bool IsInsideGuard(const ThreadBlock& block, CallerFrame frame) {
  if (frame.order() >= block.guard.order()) return false;
  const uint64_t guard = block.guard.address();
  StackBounds& stack = block.log->stack;
  if (guard >= stack.high) return true;
  if (guard < stack.low && !(stack.initial_thread && GrowStackBounds(&stack, guard))) return true;
  const Call* outermost = block.outermost;
  return LoadRelaxed(&outermost->alive) == AliveMark(outermost) &&
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

// Returns true if this call is to be recorded, and then updates the nesting.
inline bool Enter(Call* call) {
  ThreadBlock& block = t_block;
  const bool abort = call->info->kind == Kind::kAbort;
  call->counts = true;
  bool nested = false;
  if (__builtin_expect(block.guard.record != nullptr && block.log != nullptr, 0))
    nested = IsInsideGuard(block, call->frame);
  if (nested) {
    if (!abort) {
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
  } else {
    const auto caller = reinterpret_cast<uint64_t>(call->caller);
    if (caller >= call->library->core_start && caller < call->library->core_end && !abort)
      return false;
    if (IsLibrarysOwn(*call) || IsTorchsOwn(*call)) return false;
  }
  ThreadLog* log = CurrentLog();
  if (log == nullptr) return false;
  if (__builtin_expect(!nested && block.guard.record != nullptr, 0)) {
    Abandon(log);
    block.depth = 0;
    block.guard = {};
  }
  call->log = log;
  call->outer = block;
  call->own_status = false;
  call->comm = nullptr;
  call->slots = nullptr;
  call->handles = nullptr;
  call->slot_count = 0;
  call->slot = kNoRequest;
  if (!nested) {
    call->alive = AliveMark(call);
    block.outermost = call;
    block.guard_caller = call->caller;
    block.guard = call->frame;
  }
  ++block.depth;
  block.outer = static_cast<uint16_t>(call->info->operation);
  block.outer_is_pmpi = call->pmpi;
  block.passed_down = false;
  call->entered = true;
  return true;
}

// Begins a bracket around updates that a signal handler of the same thread must not interleave
// with: ring slots, counters, hashes. If a handler calls MPI inside the bracket, its call has a
// lower frame: the call is passed on without a record, and counted. An equal or higher frame means
// that a jump left the bracket.
inline bool StartWriting(const Call* call) {
  ThreadBlock& block = t_block;
  if (__builtin_expect(block.writing != nullptr, 0) && call->frame.order() < block.writing) {
    __atomic_fetch_add(&g_process.header->calls_unrecorded, 1, __ATOMIC_RELAXED);
    return false;
  }
  block.writing = call->frame.order();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return true;
}

inline void StopWriting() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_block.writing = nullptr;
}

void Dispatch(Call* call, Arguments* arguments) {
  switch (GroupOf(call->info->kind)) {
    case CallGroup::kCollective:
      return calls::BeginCollective(call, *arguments);
    case CallGroup::kP2p:
      return calls::BeginP2p(call, arguments);
    case CallGroup::kRequests:
      return calls::BeginRequests(call, arguments);
    case CallGroup::kLifecycle:
      return calls::BeginLifecycle(call, *arguments);
  }
}

}  // namespace

namespace calls {

bool OpenBracket(Call* call) {
  // The check is not made in MPI_Abort, which signal handlers call, and not inside another call.
  if (python::WantsCheck() && t_block.depth == 0 && call->info->kind != Kind::kAbort) {
    python::TryCheck();
  }
  if (call->info->kind == Kind::kFinalize && t_block.depth == 0) python::NoteUncaughtException();
  if (!StartWriting(call)) return false;
  if (Enter(call)) return true;
  StopWriting();
  return false;
}

void CloseBracket() { StopWriting(); }

Call* EnclosingCall(CallerFrame frame) {
  const ThreadBlock& block = t_block;
  if (block.guard.record == nullptr || block.log == nullptr) return nullptr;
  return IsInsideGuard(block, frame) ? block.outermost : nullptr;
}

bool ReopenBracket(Call* call, int result) {
  if (!call->entered || !Recording()) return false;  // a forked child may return from this call
  if (!StartWriting(call)) return false;
  if (__builtin_expect(result != 0, 0)) RecordError(call, result);
  return true;
}

void FinishCall(Call* call) {
  ThreadLog* log = call->log;
  if (call->recorded) {
    const uint32_t level = t_block.depth - 1;
    if (level < ring::kMaxNesting) StoreRelease(&log->entry->open[level].record.lock, uint64_t{0});
    StoreRelease(&log->entry->depth, static_cast<uint64_t>(t_block.depth - 1));
    // The next record stores when the previous one ended.
    if (call->in_ring) {
      log->last_end_ticks = Ticks();
      StoreRelaxed(&log->entry->last_end_ticks, log->last_end_ticks);
    }
    Bump(&log->entry->calls_ended);
  }
  call->alive = 0;
  static_cast<Nesting&>(t_block) = call->outer;
  StopWriting();
}

}  // namespace calls

void Begin(Call* call, Arguments* arguments) {
  if (calls::OpenBracket(call)) {
    Dispatch(call, arguments);
    calls::CloseBracket();
  } else if (!call->entered && call->info->kind == Kind::kAbort) {
    MarkExit(ring::ExitMark::kMpiAbort, arguments->error_code, /*call_path=*/0);
  }
}

void End(Call* call, const Arguments& arguments, int result) {
  if (!calls::ReopenBracket(call, result)) return;
  switch (GroupOf(call->info->kind)) {
    case CallGroup::kCollective:
      calls::EndCollective(call, arguments, result);
      break;
    case CallGroup::kP2p:
      calls::EndP2p(call, arguments, result);
      break;
    case CallGroup::kRequests:
      calls::EndRequests(call, arguments, result);
      break;
    case CallGroup::kLifecycle:
      calls::EndLifecycle(call, arguments, result);
      break;
  }
  calls::FinishCall(call);
}

}  // namespace rollcall::shim
