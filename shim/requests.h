// Outstanding requests. What is open is never lost: it stands in a table until it is known to be
// complete.
//
// Request handles are not unique: libraries return one shared handle for everything that completed
// at once (eager sends; finished nonblocking collectives). Such a request is complete when it is
// made, and never enters the table.
#ifndef ROLLCALL_SHIM_REQUESTS_H_
#define ROLLCALL_SHIM_REQUESTS_H_

#include <cstdint>

#include "proto/ring_format.h"
#include "shim/comms.h"
#include "shim/library.h"

namespace rollcall::shim {

inline constexpr uint32_t kNoRequest = 0xffffffff;

// What a request does, beside what its record says.
struct RequestKind {
  bool persistent = false;
  bool sends = false;
  bool receives = false;
  int32_t peer = 0;          // of the receive, significant if it is one: may be kAnySource
  int32_t tag = 0;           // likewise, kAnyTag
  void* new_comm = nullptr;  // where Comm_idup's result will stand
};

// Enters a request that `record`'s call made. Returns its table slot, or kNoRequest if the table is
// full (counted) or the request is complete already.
uint32_t AddRequest(Library* library, uint64_t handle, const ring::Record& record, Comm* comm,
                    const RequestKind& kind);

// A uid for the next request, which the record that makes it carries.
uint64_t NextRequestUid();

// The slot of a handle, left where it is.
uint32_t FindRequest(const Library& library, uint64_t handle);

// Takes the handle out of the map before the library may free it, since another thread may get it
// anew at once; the slot stays open. Attach puts it back if it is still pending.
uint32_t DetachRequest(const Library& library, uint64_t handle);
void AttachRequest(const Library& library, uint64_t handle, uint32_t slot);

// How a request ended.
struct Completion {
  const void* status = nullptr;  // of the library; nullptr if the program wanted none
  bool failed = false;
};
// The operation is complete: a persistent request becomes inactive, any other leaves the table.
void CompleteRequest(uint32_t slot, const Completion& completion);
// It is complete, as MPI_Request_get_status said, but the request lives on.
void MarkRequestDone(uint32_t slot);
// MPI_Request_free: nobody will hear of it again.
void DropRequest(uint32_t slot);
// MPI_Start. `record` is the starting call's; the slot shows when and where. Returns what
// ring::Record::detail says of it, 0 if it is no persistent collective.
uint64_t StartRequest(uint32_t slot, const ring::Record& record);
// MPI_Pready of so many partitions, by any thread; of another request than a partitioned send,
// nothing.
void MarkPartitions(uint32_t slot, uint32_t count);
void MarkRequestCancelled(uint32_t slot);

void SetWaiter(uint32_t slot, uint32_t thread_plus_one);
const ring::OpenRequest& RequestAt(uint32_t slot);
Comm* CommOfRequest(uint32_t slot);  // nullptr if it is gone
bool IsPersistent(uint32_t slot);
// Whether only the status tells what became of it.
bool NeedsStatus(uint32_t slot);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_REQUESTS_H_
