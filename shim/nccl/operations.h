// SPDX-License-Identifier: Apache-2.0
// Records operations that NCCL enqueues on a stream. Called by the wrappers (call.cc) or, if NCCL's
// functions cannot be wrapped, for its profiler events (profiler_events.cc).
#ifndef ROLLCALL_SHIM_NCCL_OPERATIONS_H_
#define ROLLCALL_SHIM_NCCL_OPERATIONS_H_

#include <cstdint>

#include "shim/call_inline.h"
#include "shim/call_paths.h"
#include "shim/nccl/arguments.h"
#include "shim/nccl/progress.h"
#include "shim/nccl/records.h"

namespace rollcall::shim::nccl {

// Facts about an operation that are not in its arguments.
struct Placed {
  Comm* comm = nullptr;   // null: unknown
  bool captured = false;  // captured into a graph: it is on no stream and matches nothing now
  uint64_t launch = 0;    // number of the launch that it is part of; 0: it is a launch of its own
  const InternedPath* path = nullptr;  // its call path; null: the path of the current call
};

// Numbers the operation and publishes its record as the call in flight. Call it between OpenBracket
// and CloseBracket.
inline void RecordOperation(Call* call, const Arguments& a, const Placed& placed) {
  Comm* comm = call->comm = placed.comm;
  calls::StartRecord(call);
  ring::Record& record = call->record;
  FillRecord(*call->info, a, &record);
  const InternedPath path = placed.path != nullptr ? *placed.path : CurrentCallPath(call->frame);
  SetCallPath(&record, path);
  const bool message = call->info->rule == Rule::kP2p;
  // Operations and launches share a counter: a group's operations have numbers between the launch
  // number of the group and the next launch number.
  record.request = NextLaunch();
  record.detail = placed.launch != 0 ? placed.launch : record.request;
  record.detail2 = a.stream;
  // Captured operations get no sequence number, since it is unknown how often the graph will run.
  if (placed.captured) {
    record.flags |= ring::kCaptured;
    __atomic_fetch_add(&g_process.header->calls_captured, 1, __ATOMIC_RELAXED);
  }
  if (comm == nullptr) {
    record.flags |= ring::kUnknownComm;
  } else if (!message && !placed.captured) {
    record.sequence = NextSequence(comm);
    Checkpoint(comm, record.sequence, record.semantic_hash, path.portable_hash);
  }
  calls::WriteRecord(call, message ? ring::kP2pRing : ring::kCollectiveRing);
}

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_OPERATIONS_H_
