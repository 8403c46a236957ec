// SPDX-License-Identifier: Apache-2.0
// Outstanding requests. An open request stays in a table until it is known to be complete. Unlike
// records in a ring, it is never overwritten.
//
// Request handles are not unique: libraries return one shared handle for all operations that
// complete at once (eager sends; finished nonblocking collectives). A request with a shared handle
// is complete when it is created, and does not enter the table.
#ifndef ROLLCALL_SHIM_REQUESTS_H_
#define ROLLCALL_SHIM_REQUESTS_H_

#include <cstdint>

#include "proto/ring_format.h"
#include "shim/comms.h"
#include "shim/library.h"

namespace rollcall::shim {

inline constexpr uint32_t kNoRequest = 0xffffffff;
inline constexpr uint32_t kMaxRequests = 8192;

// Properties of a request that its record does not contain.
struct RequestKind {
  bool persistent = false;
  bool sends = false;
  bool receives = false;
  int32_t peer = 0;          // source of a receive, else unused; may be kAnySource
  int32_t tag = 0;           // tag of a receive, else unused; may be kAnyTag
  void* new_comm = nullptr;  // where Comm_idup will store the new communicator
};

// Enters a request that the call of `record` created. Returns its slot in the table. Returns
// kNoRequest if the table is full (counted) or the request is already complete.
uint32_t AddRequest(Library* library, uint64_t handle, const ring::Record& record, Comm* comm,
                    const RequestKind& kind);

// True for a handle of a request that was complete when it was created.
bool IsCompleteAtOnce(const Library& library, uint64_t handle);

// Returns a uid for the next request; the record of the call that creates the request stores it.
uint64_t NextRequestUid();

// Returns the slot of a handle; the handle stays in the map.
uint32_t FindRequest(const Library& library, uint64_t handle);

// Removes the handle from the map. Call it before the library may free the handle, because another
// thread may get the same handle at once. The slot stays open. If the request is still pending
// after the call, AttachRequest puts the handle back.
uint32_t DetachRequest(const Library& library, uint64_t handle);
void AttachRequest(const Library& library, uint64_t handle, uint32_t slot);

// How a request ended.
struct Completion {
  const void* status = nullptr;  // written by the library; nullptr if the program ignores it
  bool failed = false;
};
// The operation is complete: a persistent request becomes inactive, any other leaves the table.
void CompleteRequest(uint32_t slot, const Completion& completion);
// MPI_Request_get_status reported completion; the request itself continues to exist.
void MarkRequestDone(uint32_t slot);
// MPI_Request_free: no later call will report the request's completion.
void DropRequest(uint32_t slot);
// MPI_Start. `record` is the record of the starting call; its time and call path are stored in the
// slot. Returns the value for ring::Record::detail, 0 if the request is not a persistent
// collective.
uint64_t StartRequest(uint32_t slot, const ring::Record& record);
// MPI_Pready of `count` partitions. Does nothing if the request is not a partitioned send. Any
// thread.
void MarkPartitions(uint32_t slot, uint32_t count);
void MarkRequestCancelled(uint32_t slot);

void SetWaiter(uint32_t slot, uint32_t thread_plus_one);
const ring::OpenRequest& RequestAt(uint32_t slot);
Comm* CommOfRequest(uint32_t slot);  // nullptr if it was freed
bool IsPersistent(uint32_t slot);
// True if the request's outcome can only be read from the status.
bool NeedsStatus(uint32_t slot);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_REQUESTS_H_
