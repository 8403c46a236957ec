// What is done at a process' first communicator, whoever tells of it.
#ifndef ROLLCALL_SHIM_NCCL_START_H_
#define ROLLCALL_SHIM_NCCL_START_H_

#include "shim/comms.h"

namespace rollcall::shim::nccl {

// A reader needs two anchors some way apart to make times of ticks (ring_format.md), and a rank
// that never comes out of its first initialisation takes no later one. Takes 150 us, less than any
// initialisation.
void SetClock();

// Where no launcher said which rank this is, the first communicator does.
void SupposeWorld(const NcclIdentity& identity);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_START_H_
