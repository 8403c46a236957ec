// SPDX-License-Identifier: Apache-2.0
// The work before and after every wrapped function: Begin and End. There is one pair of functions
// for each group of kinds (CallGroup of proto/operations.h).
//
// Nothing here may crash, block, throw, allocate (after first sight) or change errno. A call that
// cannot be recorded is still passed on.
#ifndef ROLLCALL_SHIM_CALL_H_
#define ROLLCALL_SHIM_CALL_H_

#include <cstdint>

#include "proto/operations.h"
#include "proto/ring_format.h"
#include "shim/arguments.h"
#include "shim/comms.h"
#include "shim/library.h"
#include "shim/messages.h"
#include "shim/requests.h"
#include "shim/stack/arch.h"
#include "shim/thread_log.h"

namespace rollcall::shim {

inline constexpr uint32_t kLargestStatus =
    64;  // the standard ABI's, the largest known, has 32 bytes

// One running wrapper. Lives in the wrapper's frame. It deliberately has no destructor: if an
// exception or a longjmp leaves the wrapper, the guard detects that at the next call (call.cc).
struct Call {
  uint64_t alive;  // marks this memory as this call while the wrapper runs
  const OperationInfo* info;
  CallerFrame frame;   // ROLLCALL_CALLER_FRAME() of the wrapper
  const void* caller;  // return address: identifies the caller
  Library* library;
  bool pmpi;  // called by its PMPI_ name

  bool entered;     // Begin did something that End has to undo
  bool recorded;    // `record` was written: it is in flight
  bool own_status;  // `status_bytes` was passed to the library instead of MPI_STATUS_IGNORE
  bool counts;      // its messages are counted; false: a tool makes this call to implement another
  bool in_ring;     // `record` is also in its ring, where it stays after the call
  uint8_t ring;     // ring::RingKind
  // Set by data::BeginCall.
  bool reads_data;
  bool host_only;  // with `reads_data`: no argument can point to a device's memory, because no
                   // driver of a device was loaded when the call was entered
  Nesting outer;   // the thread's nesting before this call, restored by End; only its guard if none
  ThreadLog* log;
  ThreadLog::Level* level;  // nullptr if more than kMaxNesting calls are open
  Comm* comm;
  uint32_t* slots;  // request slots of a Waitall and the like, in the log's scratch
  uint32_t slot_count;
  uint32_t slot;                // request slot of a Wait
  uint64_t* handles;            // the handles before the call, parallel to `slots`
  uint64_t handle;              // an in-out handle's value before the call
  uint32_t freed;               // what HandleFreed returned for `handle`
  uint64_t poll_begin_ticks;    // when a timed poll began; 0: the call is not timed
  RollingHashes hashes_before;  // hashes of `comm` before this call took its sequence number
  MatchedMessage message;
  ring::Record record;
  alignas(8) char status_bytes[kLargestStatus];
};

// Sets the facts that are constant for a wrapper; Begin sets those of the call.
inline Call MakeCall(const OperationInfo& info, bool pmpi, CallerFrame frame, const void* caller,
                     Library* library) {
  Call call;  // NOLINT: the rest is filled when it is needed
  call.info = &info;
  call.frame = frame;
  call.caller = caller;
  call.library = library;
  call.pmpi = pmpi;
  call.entered = false;
  call.recorded = false;
  call.own_status = false;
  call.counts = true;
  call.slot = kNoRequest;
  return call;
}

// For calls of MPI; `group` is that of the call's kind (proto/call_kinds.def). Begin may change the
// arguments for the library (arguments->status).
template <CallGroup group>
void Begin(Call* call, Arguments* arguments);
template <CallGroup group>
void End(Call* call, const Arguments& arguments, int result);

// Shared by the files that implement kinds (call_*.cc).
namespace calls {
// OpenBracket (call_inline.h) for a call whose case is not the usual one.
ROLLCALL_COLD bool OpenUnusual(Call* call);
// A longjmp or an exception left wrappers of this thread without their End: closes their open
// calls, which are those with `depth` others around them and those inside these.
ROLLCALL_COLD void Abandon(ThreadLog* log, uint32_t depth);
// Returns the recorded call that the calling thread is inside of, in any wrapper of the shim;
// nullptr if there is none. `frame` is the frame of the caller. The result is also right after an
// exception has left a wrapper.
Call* EnclosingCall(CallerFrame frame);
// call_record.cc. True if the call was rejected because of its arguments (proto/mpi_errors.h).
// `result` is its return value, not 0.
bool WasRejected(const Call& call, int result);
// Records an error that a call returned. The error's record follows the call's record.
void RecordError(Call* call, int result);
// Marks the record of a call whose communicator is in no table.
void MarkUnknownComm(Call* call, const Arguments& arguments);
// Publishes call->record as the call in flight only. RecordError writes it to `ring` if the call
// fails.
void PublishOpenCall(Call* call, ring::RingKind ring);
// Writes call->record to its ring only, for calls that are recorded after they succeeded (a Test).
void AppendFinished(Call* call, ring::RingKind ring);
int32_t Peer(const Abi& abi, int32_t value);
int32_t Tag(const Abi& abi, int32_t value);
// If the program ignores the status, passes the shim's status_bytes to the library instead.
void WantStatus(Call* call, Arguments* arguments);
// The last unsuccessful poll of the thread, for diagnosing endless polling.
struct FailedPoll {
  uint32_t member = 0;  // uid; 0 if the call specifies none
  int32_t peer = ring::kNoPeer;
  int32_t tag = ring::kNoTag;
  uint64_t request = 0;   // uid of the first request that was tested; 0 if unknown
  uint32_t requests = 0;  // the number of requests that were tested
};
void NotePoll(Call* call, const FailedPoll& poll);
// The call's status; nullptr if it cannot be read.
const void* StatusOf(const Call& call, const Arguments& arguments);

void FillCollective(Call* call, const Arguments& arguments);  // collective.cc
}  // namespace calls

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_CALL_H_
