// SPDX-License-Identifier: Apache-2.0
// The parts of Begin and End that every recorded call goes through. They are inline, and handle the
// usual case; the other cases are in call.cc.
#ifndef ROLLCALL_SHIM_CALL_INLINE_H_
#define ROLLCALL_SHIM_CALL_INLINE_H_

#include <cstddef>
#include <cstring>

#include "shim/call.h"
#include "shim/process.h"
#include "shim/python/check.h"
#include "shim/torch/binding.h"

namespace rollcall::shim::calls {

// --- nesting -------------------------------------------------------------------------------------

// What Call::alive is while the wrapper runs.
inline uint64_t AliveMark(const Call* call) {
  return 0x726f6c6c63616c6c ^ reinterpret_cast<uint64_t>(call);
}

// A bracket is put around updates that a signal handler of the same thread must not interleave
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

inline void CloseBracket() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_block.writing = nullptr;
}

// Enters a call. If it is inside another one, `outer` and `level` are set already.
ROLLCALL_INLINE void Enter(Call* call, ThreadLog* log, bool inner) {
  ThreadBlock& block = t_block;
  if (!inner) {
    call->outer.guard = {};
    call->level = log->levels;
    call->alive = AliveMark(call);
    block.outermost = call;
    block.guard_caller = call->caller;
    block.guard = call->frame;
  }
  block.depth = inner ? block.depth + 1 : 1;
  block.outer = static_cast<uint16_t>(call->info->operation);
  block.outer_is_pmpi = call->pmpi;
  block.passed_down = false;
  call->log = log;
  call->comm = nullptr;
  call->entered = true;
}

// Begin and End without the parts that are specific to MPI. The call may be recorded between
// OpenBracket and CloseBracket, and between ReopenBracket and FinishCall. If OpenBracket or
// ReopenBracket returns false, the call is not recorded: do not call CloseBracket or FinishCall.
// `any_kind` is false if the kind cannot be local, kAbort or kFinalize.
template <bool any_kind = true>
ROLLCALL_INLINE bool OpenBracket(Call* call) {
  ThreadBlock& block = t_block;
  ThreadLog* log = block.log;
  const Kind kind = call->info->kind;
  const auto caller = reinterpret_cast<uint64_t>(call->caller);
  const uint64_t running =
      reinterpret_cast<uint64_t>(block.writing) | reinterpret_cast<uint64_t>(block.guard.record);
  const bool usual =
      running == 0 && !python::WantsCheck() && log != nullptr && log != kNoLog &&
      !torch::IsOwnCall(call->caller) &&
      (caller < call->library->core_start || caller >= call->library->core_end) &&
      (!any_kind || !(IsLocal(kind) || kind == Kind::kAbort || kind == Kind::kFinalize));
  if (__builtin_expect(!usual, 0)) return OpenUnusual(call);
  block.writing = call->frame.order();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  Enter(call, log, false);
  return true;
}

ROLLCALL_INLINE bool ReopenBracket(Call* call, int result) {  // 0: `result` is no error
  if (!call->entered || !Recording()) return false;  // a forked child may return from this call
  if (!StartWriting(call)) return false;
  if (__builtin_expect(result != 0, 0)) RecordError(call, result);
  return true;
}

ROLLCALL_INLINE void FinishCall(Call* call) {
  ThreadLog* log = call->log;
  const bool outermost = call->outer.guard.record == nullptr;
  const uint32_t depth = outermost ? 0 : call->outer.depth;
  if (__builtin_expect(t_block.depth != depth + 1, 0)) Abandon(log, depth + 1);
  if (call->recorded) {
    if (call->level != nullptr) StoreRelease(&call->level->open->lock, uint64_t{0});
    StoreRelease(&log->entry->depth, uint64_t{depth});
    // The next record stores when the previous one ended.
    if (call->in_ring) {
      log->last_end_ticks = Ticks();
      StoreRelaxed(&log->entry->last_end_ticks, log->last_end_ticks);
    }
    Bump(&log->entry->calls_ended);
  }
  call->alive = 0;
  if (__builtin_expect(outermost, 1)) {
    t_block.guard = {};
    t_block.outermost = nullptr;
    t_block.depth = 0;
  } else {
    static_cast<Nesting&>(t_block) = call->outer;
  }
  CloseBracket();
}

// --- the record ----------------------------------------------------------------------------------

// Sets the fields of call->record that all records have, and clears the others.
ROLLCALL_INLINE void StartRecord(Call* call) {
  ring::Record& record = call->record;
  record.start_ticks = Ticks();
  // Two halves, because gcc clears more than 64 bytes in a loop.
  constexpr size_t kFirst = offsetof(ring::Record, sequence);
  constexpr size_t kHalf = (sizeof(record) - kFirst) / 2;
  memset(reinterpret_cast<char*>(&record) + kFirst, 0, kHalf);
  memset(reinterpret_cast<char*>(&record) + kFirst + kHalf, 0, kHalf);
  record.prev_end_ticks = call->log->last_end_ticks;
  record.operation = static_cast<uint16_t>(call->info->operation);
  record.flags = call->log->flags;
  if (__builtin_expect(t_block.depth > 1, 0)) record.flags |= ring::kNested;
  record.member = call->comm != nullptr ? call->comm->uid : 0;
  record.root_or_peer = ring::kNoPeer;
  record.tag = ring::kNoTag;
}

// Publishes call->record in its ring and as the call in flight.
ROLLCALL_INLINE void WriteRecord(Call* call, ring::RingKind ring) {
  call->ring = ring;
  call->in_ring = true;
  call->recorded = true;
  RingWriter& writer = call->log->rings[ring];
  if (__builtin_expect(call->level != nullptr, 1)) {
    writer.Append(call->record, call->level->open);
  } else {
    writer.Append(call->record);
  }
  StoreRelease(&call->log->entry->depth, static_cast<uint64_t>(t_block.depth));
  // About once a second. The later the last anchor, the more precisely a reader knows the clock's
  // rate.
  constexpr uint64_t kRefreshTicks = uint64_t{1} << 31;
  const uint64_t anchor = LoadRelaxed(&g_process.header->last_anchor.ticks);
  if (__builtin_expect(call->record.start_ticks - anchor > kRefreshTicks, 0)) RefreshClockAnchor();
}

// --- groups of kinds -----------------------------------------------------------------------------

// Selects the functions Before() and After() of a group, which the group's file defines.
template <CallGroup>
struct Group {};

}  // namespace rollcall::shim::calls

namespace rollcall::shim {

// Begin and End of a group. The group's file instantiates both.
template <CallGroup group>
void Begin(Call* call, Arguments* arguments) {
  constexpr bool lifecycle = group == CallGroup::kLifecycle;
  if (calls::OpenBracket<lifecycle>(call)) {
    Before(calls::Group<group>(), call, arguments);
    calls::CloseBracket();
  } else if (lifecycle && !call->entered && call->info->kind == Kind::kAbort) {
    MarkExit(ring::ExitMark::kMpiAbort, arguments->error_code, /*call_path=*/0);
  }
}
template <CallGroup group>
void End(Call* call, const Arguments& arguments, int result) {
  if (!calls::ReopenBracket(call, result)) return;
  After(calls::Group<group>(), call, arguments, result);
  calls::FinishCall(call);
}

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_CALL_INLINE_H_
