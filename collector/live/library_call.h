// SPDX-License-Identifier: Apache-2.0
// Reads from an MPI library's own objects what a thread's current call waits for. The stack alone
// does not show it.
#ifndef ROLLCALL_COLLECTOR_LIVE_LIBRARY_CALL_H_
#define ROLLCALL_COLLECTOR_LIVE_LIBRARY_CALL_H_

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collector/live/process_image.h"
#include "collector/live/unwinder.h"
#include "collector/model/place.h"

namespace rollcall {

// Merges two samples of one call into `call`: keeps every fact that one of them contains. False if
// they contradict each other.
bool Merge(const LibraryCall& other, LibraryCall* call);

// Sets `member_runs`. `ranks`: in MPI_COMM_WORLD, in any order; if one of them is negative, which
// means unknown, nothing is set.
void SetMembers(std::vector<int32_t> ranks, LibraryCall* call);

// The data of a stack frame that ReadLibraryCall() uses.
struct CallFrame {
  FrameRegisters registers;
  std::string_view function;  // empty: unknown
  std::string_view module;    // path
};

// The values that `frame` has put into callee-saved registers since its caller called it. These are
// the objects that the function works with. The caller's own values are left out, because they may
// be anything.
std::set<uint64_t> ChangedRegisters(const CallFrame& frame, const CallFrame& caller);

// `frames`: innermost first, up to the outermost MPI function and then its caller. None if the
// library is unknown or yields nothing. Reads memory of the process, which may be running: all data
// is checked. `file_root`: see FindExports(). `world_size`: -1 if unknown.
std::optional<LibraryCall> ReadLibraryCall(const ProcessImage& image, const std::string& file_root,
                                           std::span<const CallFrame> frames, int32_t world_size);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_LIBRARY_CALL_H_
