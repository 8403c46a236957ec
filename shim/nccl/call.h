// The work before and after every wrapped function of NCCL, and of CUDA functions with which a host
// waits for a device. The frame is that of MPI's calls (shim/call.h): one guard, one open table,
// one log.
#ifndef ROLLCALL_SHIM_NCCL_CALL_H_
#define ROLLCALL_SHIM_NCCL_CALL_H_

#include "shim/call.h"
#include "shim/nccl/arguments.h"
#include "shim/nccl/binding.h"

namespace rollcall::shim::nccl {

// At the entry of an initialization whose real function is `function`: begins recording, unless it
// has begun.
void StartWith(const void* function, const void* caller);

// Begin sets arguments->stream to the number by which the ring knows the stream.
void Begin(Call* call, Arguments* arguments);
void End(Call* call, const Arguments& arguments, int result);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_CALL_H_
