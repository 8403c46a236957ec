// Calls for which NCCL returned ncclInProgress. A non-blocking communicator (config.blocking = 0)
// is created, and launches its operations, in a thread of NCCL's own; the application calls
// ncclCommGetAsyncError until that is done. The shim reads the results of these calls and never
// calls ncclCommGetAsyncError itself, because that has side effects.
//
// Until a result says that nothing is in progress, a creation stays open, and an operation that the
// host has called may not be on its stream yet.
//
// Thread safety: any thread; a lock is held for a few loads and stores. No allocation.
#ifndef ROLLCALL_SHIM_NCCL_UNFINISHED_H_
#define ROLLCALL_SHIM_NCCL_UNFINISHED_H_

#include <cstdint>

#include "shim/nccl/group.h"

namespace rollcall::shim::nccl {

// Adds a creation; `handle` is the one that the library has written already. False if there is no
// room.
bool AwaitCreation(const Pending& pending, uint64_t handle);
// Adds operations of the member `uid`: those of this launch and of all later ones.
void AwaitLaunch(uint32_t uid, uint64_t launch);

// NCCL told the application that nothing is in progress on the communicator of this handle;
// `failed`: because of an error. Removes its entries and calls `settle` for each creation.
void OnSettled(uint64_t handle, bool failed,
               void (*settle)(const Pending&, uint64_t handle, bool failed));
// Removes all entries of this member.
void RemoveAwaited(uint32_t uid);

// Returns the highest number, at most `launch`, up to which all launches are known to be on their
// streams.
uint64_t KnownLaunched(uint64_t launch);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_UNFINISHED_H_
