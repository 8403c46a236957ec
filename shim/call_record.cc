// SPDX-License-Identifier: Apache-2.0
// The record of a call: the fields that all records have, writing it, and recording errors.
#include "proto/mpi_errors.h"
#include "shim/call.h"
#include "shim/process.h"

namespace rollcall::shim {
namespace calls {

int32_t Peer(const Abi& abi, int32_t value) {
  if (value == abi.any_source) return ring::kAnySource;
  if (value == abi.proc_null) return ring::kProcNullPeer;
  return value;
}

int32_t Tag(const Abi& abi, int32_t value) { return value == abi.any_tag ? ring::kAnyTag : value; }

void WantStatus(Call* call, Arguments* arguments) {
  if (!arguments->has_status || !call->library->IgnoresStatus(arguments->status)) return;
  call->own_status = true;
  arguments->status = call->status_bytes;
}

const void* StatusOf(const Call& call, const Arguments& arguments) {
  if (arguments.status == nullptr || call.library->IgnoresStatus(arguments.status)) return nullptr;
  return arguments.status;
}

void PublishOpenCall(Call* call, ring::RingKind ring) {
  call->ring = ring;
  call->in_ring = false;
  call->recorded = true;
  if (call->level != nullptr) PublishRecord(call->level->open, call->record, 2);
  StoreRelease(&call->log->entry->depth, static_cast<uint64_t>(t_block.depth));
}

void AppendFinished(Call* call, ring::RingKind ring) {
  call->log->rings[ring].Append(call->record);
}

namespace {

int ErrorClassOf(const Call& call, int result) {
  int error_class = result;
  if (call.library->query.Error_class != nullptr)
    call.library->query.Error_class(result, &error_class);
  return error_class;
}

}  // namespace

ROLLCALL_COLD bool WasRejected(const Call& call, int result) {
  // The error of a call that completes other operations may be the error of such an operation.
  const CallGroup group = GroupOf(call.info->kind);
  const bool takes_part = group == CallGroup::kCollective || group == CallGroup::kP2p;
  return takes_part && !IsNccl(call.info->operation) &&
         FindErrorClass(call.library->abi.flavor, static_cast<uint64_t>(ErrorClassOf(call, result)))
             .rejects;
}

ROLLCALL_COLD void MarkUnknownComm(Call* call, const Arguments& arguments) {
  call->record.flags |= ring::kUnknownComm;
  const uint64_t null = call->library->abi.comm_null;
  if (null != 0 && call->library->Handle(arguments.comm) == null)
    call->record.flags |= ring::kNullComm;
}

ROLLCALL_COLD void RecordError(Call* call, int result) {
  ring::FileHeader* header = g_process.header;
  const int error_class = ErrorClassOf(*call, result);
  __atomic_fetch_add(&header->errors_seen, 1, __ATOMIC_RELAXED);
  StoreRelaxed(&header->last_error_class,
               static_cast<uint64_t>(static_cast<uint32_t>(error_class)));
  if (!call->recorded) return;
  if (!call->in_ring) call->log->rings[call->ring].Append(call->record);
  call->in_ring = true;
  ring::Record record = call->record;
  record.operation = static_cast<uint16_t>(Operation::kCallError);
  record.start_ticks = Ticks();
  record.continuations = 0;
  if (WasRejected(*call, result)) record.flags |= ring::kRejected;
  record.detail = static_cast<uint32_t>(error_class);
  record.detail2 = call->record.operation;
  call->log->rings[call->ring].Append(record);
}

}  // namespace calls

}  // namespace rollcall::shim
