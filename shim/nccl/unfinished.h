// SPDX-License-Identifier: Apache-2.0
// Calls for which NCCL returned ncclInProgress. A thread of NCCL creates a non-blocking
// communicator (config.blocking = 0) and launches its operations. The application calls
// ncclCommGetAsyncError until nothing is in progress. The shim reads the results of the
// application's calls. It never calls ncclCommGetAsyncError itself, because that call has side
// effects.
//
// Until a result shows that nothing is in progress, a creation stays open, and operations that the
// host has called may not be on their streams yet.
//
// Thread safety: any thread; a lock is held for a few loads and stores. No allocation.
#ifndef ROLLCALL_SHIM_NCCL_UNFINISHED_H_
#define ROLLCALL_SHIM_NCCL_UNFINISHED_H_

#include <cstdint>

#include "shim/nccl/group.h"

namespace rollcall::shim::nccl {

// Adds a creation. `handle` is the handle that the library has already written. False if there is
// no room.
bool AwaitCreation(const Pending& pending, uint64_t handle);
// Adds the operations of the member `uid` in this launch and in all later ones.
void AwaitLaunch(uint32_t uid, uint64_t launch);

// NCCL reported to the application that nothing is in progress on the communicator of this handle.
// `failed`: NCCL reported an error. Removes the communicator's entries and calls `settle` for each
// creation.
void OnSettled(uint64_t handle, bool failed,
               void (*settle)(const Pending&, uint64_t handle, bool failed));
// Removes all entries of this member.
void RemoveAwaited(uint32_t uid);

// Returns the highest number, at most `launch`, up to which all launches are known to be on their
// streams.
uint64_t KnownLaunched(uint64_t launch);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_UNFINISHED_H_
