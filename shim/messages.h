// SPDX-License-Identifier: Apache-2.0
// Messages that a matched probe has taken out of the queue (MPI_Message). The probe has the
// communicator of a message as an argument; the receive has not, but must record it. Lock-free; any
// thread.
#ifndef ROLLCALL_SHIM_MESSAGES_H_
#define ROLLCALL_SHIM_MESSAGES_H_

#include <cstdint>

#include "proto/ring_format.h"
#include "shim/comms.h"
#include "shim/library.h"

namespace rollcall::shim {

struct MatchedMessage {
  Comm* comm;  // nullptr if unknown
  int32_t peer;
  int32_t tag;
};

// Call it after a probe; does nothing for MPI_MESSAGE_NULL and MPI_MESSAGE_NO_PROC.
void StoreMessage(const Library& library, uint64_t handle, const MatchedMessage& message);
// Call it before the receive: the library may reuse the handle as soon as it gets it.
MatchedMessage TakeMessage(const Library& library, uint64_t handle);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_MESSAGES_H_
