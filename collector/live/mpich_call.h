// SPDX-License-Identifier: Apache-2.0
// Finds out from MPICH's objects what a thread's current call waits for.
#ifndef ROLLCALL_COLLECTOR_LIVE_MPICH_CALL_H_
#define ROLLCALL_COLLECTOR_LIVE_MPICH_CALL_H_

#include <optional>
#include <span>

#include "collector/live/library_call.h"
#include "collector/live/mpich_objects.h"

namespace rollcall {

// See ReadLibraryCall().
std::optional<LibraryCall> ReadMpichCall(std::span<const CallFrame> frames, MpichObjects* objects);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_MPICH_CALL_H_
