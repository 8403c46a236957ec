// SPDX-License-Identifier: Apache-2.0
// Parses the profiling_name of a Flight Recorder entry.
#ifndef ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_OPERATION_NAME_H_
#define ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_OPERATION_NAME_H_

#include <cstdint>
#include <string_view>

#include "proto/operations.h"
#include "proto/ring_format.h"

namespace rollcall::flight_recorder {

struct OperationName {
  Operation operation = Operation::kTorchOther;
  int32_t peer = ring::kNoPeer;  // of send and recv, as a rank in the group; kAnySource for "?"
};

// "nccl:all_reduce", "nccl:_all_gather_base", "nccl:send 0->3", "gloo:recv 3<-0", "nccl:recv 0<-?".
// The library's name before the colon may be any name, or missing. Variants of one operation that
// match each other (all_gather and _all_gather_base, broadcast and _broadcast_oop) are one
// operation.
OperationName ParseOperationName(std::string_view profiling_name);

}  // namespace rollcall::flight_recorder

#endif  // ROLLCALL_COLLECTOR_IMPORT_FLIGHT_RECORDER_OPERATION_NAME_H_
