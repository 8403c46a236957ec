// SPDX-License-Identifier: Apache-2.0
// The work when a process creates its first communicator. Called by wrappers and profiler events.
#ifndef ROLLCALL_SHIM_NCCL_START_H_
#define ROLLCALL_SHIM_NCCL_START_H_

#include "shim/comms.h"

namespace rollcall::shim::nccl {

// Takes a second clock anchor. To convert ticks, a reader needs two anchors with some distance in
// time (ring_format.md). A rank that hangs in its first initialisation would take no later anchor.
// Waits until 150 us after the first anchor, which is less than any initialisation takes.
void SetClock();

// Sets the world's rank and size from the first communicator, unless the launcher provided them.
void SetUnknownWorld(const KnownIdentity& identity);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_START_H_
