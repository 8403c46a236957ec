// What NCCL is asked to put on a stream, as it goes on record: by the wrappers (call.cc), and by
// NCCL's own profiler events (profiler_events.cc) where its functions cannot be wrapped.
#ifndef ROLLCALL_SHIM_NCCL_OPERATIONS_H_
#define ROLLCALL_SHIM_NCCL_OPERATIONS_H_

#include <cstdint>

#include "shim/call.h"
#include "shim/call_paths.h"
#include "shim/nccl/arguments.h"

namespace rollcall::shim::nccl {

// What the arguments do not say.
struct Placed {
  Comm* comm = nullptr;   // null: unknown
  bool captured = false;  // a graph records it: it is on no stream, and meets nothing now
  uint64_t launch = 0;    // of what goes to the device together; 0: it goes alone
  const InternedPath* path = nullptr;  // where it was called; null: here
};

// Numbers it, and publishes its record as the call in flight. Between OpenBracket and its end.
void RecordOperation(Call* call, const Arguments& arguments, const Placed& placed);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_OPERATIONS_H_
