// What NCCL answered ncclInProgress to. A communicator that does not block (config.blocking = 0) is
// made, and hands its operations to the device, in a thread of NCCL's own; the application asks
// ncclCommGetAsyncError until that is done. We listen to the answers and never ask: the question
// has side effects.
//
// Until the application hears that nothing is in progress, a creation is open, and what a host
// waits for on a stream need not be what it called.
//
// Thread safety: any thread; a lock that is held for a few loads and stores. No allocation.
#ifndef ROLLCALL_SHIM_NCCL_UNFINISHED_H_
#define ROLLCALL_SHIM_NCCL_UNFINISHED_H_

#include <cstdint>

#include "shim/nccl/group.h"

namespace rollcall::shim::nccl {

// A creation; `handle` is what the library wrote already. False if there is no room.
bool AwaitCreation(const Pending& pending, uint64_t handle);
// Operations of the member `uid`: of this launch, and of all that follow.
void AwaitLaunch(uint32_t uid, uint64_t launch);

// The application heard how it stands with the communicator of this handle: nothing is in progress
// (`failed`: any more, for an error). Ends what was awaited of it; creations are handed to `settle`
// one by one.
void Heard(uint64_t handle, bool failed,
           void (*settle)(const Pending&, uint64_t handle, bool failed));
// Nothing of this member is awaited any more.
void ForgetAwaited(uint32_t uid);

// Up to which launch, at most `launch`, everything is known to be on its stream.
uint64_t SurelyLaunched(uint64_t launch);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_UNFINISHED_H_
