// Messages counted per (communicator, peer, tag): whether one that never came was ever sent can
// then be judged after the records of both sides are gone.
//
// After a channel's first message: no allocation, lock or system call. Any thread.
#ifndef ROLLCALL_SHIM_CHANNELS_H_
#define ROLLCALL_SHIM_CHANNELS_H_

#include <cstdint>

#include "shim/comms.h"

namespace rollcall::shim {

// `peer` and `tag` are as in ring::Record; messages to or from MPI_PROC_NULL are not counted. With
// a null `comm` nothing happens.

// A send that was entered or, if persistent, started. Returns how many these are on the channel
// now; 0 if unknown.
uint64_t CountSent(const Comm* comm, int32_t peer, int32_t tag);
// A send that was counted was rejected.
void UncountSent(const Comm* comm, int32_t peer, int32_t tag);
// A receive that is complete; from the status, or kAnySource and kAnyTag where there was none.
void CountReceived(const Comm* comm, int32_t peer, int32_t tag);
// A receive that ended in a way that does not tell whether it received.
void MarkReceivesUnseen(const Comm* comm, int32_t peer, int32_t tag);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_CHANNELS_H_
