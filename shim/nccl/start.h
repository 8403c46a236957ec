// Work at the creation of a process' first communicator, called by wrappers and profiler events.
#ifndef ROLLCALL_SHIM_NCCL_START_H_
#define ROLLCALL_SHIM_NCCL_START_H_

#include "shim/comms.h"

namespace rollcall::shim::nccl {

// Takes a second clock anchor. A reader needs two anchors with some distance in time to convert
// ticks (ring_format.md), and a rank that hangs in its first initialisation takes no later one.
// Takes 150 us, less than any initialisation.
void SetClock();

// Sets the world's rank and size from the first communicator, unless the launcher provided them.
void SetUnknownWorld(const NcclIdentity& identity);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_START_H_
