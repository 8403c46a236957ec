// SPDX-License-Identifier: Apache-2.0
// The work before and after every wrapped NCCL function, and every wrapped CUDA function by which a
// host waits for a device. These calls use the same guard, table of open calls and log as MPI calls
// (shim/call.h).
#ifndef ROLLCALL_SHIM_NCCL_CALL_H_
#define ROLLCALL_SHIM_NCCL_CALL_H_

#include "shim/call.h"
#include "shim/nccl/arguments.h"
#include "shim/nccl/binding.h"

namespace rollcall::shim::nccl {

// Starts recording, unless it has started. Called at the entry of an initialization whose real
// function is `function`.
void StartWith(const void* function, const void* caller);

// Begin sets arguments->stream to the stream's number in the ring.
void Begin(Call* call, Arguments* arguments);
void End(Call* call, const Arguments& arguments, int result);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_CALL_H_
