// SPDX-License-Identifier: Apache-2.0
// Counts messages per (communicator, peer, tag), and per (communicator, peer) over all tags. The
// counts show whether a missing message was ever sent, even after the records of both sides are
// overwritten. A program may use more tags than the table has room for, but it has fewer peers than
// tags.
//
// After a channel's first message: no allocation, lock or system call. Any thread.
#ifndef ROLLCALL_SHIM_CHANNELS_H_
#define ROLLCALL_SHIM_CHANNELS_H_

#include <cstdint>

#include "shim/comms.h"

namespace rollcall::shim {

// `peer` and `tag` are as in ring::Record; messages to or from MPI_PROC_NULL are not counted. A
// null `comm` is ignored.

// Counts a send that was entered or, if persistent, started. Returns the number of sends on the
// channel; 0 if unknown.
uint64_t CountSent(const Comm* comm, int32_t peer, int32_t tag);
// A counted send was rejected.
void UncountSent(const Comm* comm, int32_t peer, int32_t tag);
// Counts a completed receive; peer and tag are from the status, or kAnySource and kAnyTag without a
// status.
void CountReceived(const Comm* comm, int32_t peer, int32_t tag);
// A receive ended, but it is unknown whether it received a message.
void MarkReceivesUnseen(const Comm* comm, int32_t peer, int32_t tag);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_CHANNELS_H_
