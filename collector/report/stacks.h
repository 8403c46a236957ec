// SPDX-License-Identifier: Apache-2.0
// Formats call paths for a report: user frames are shown, other frames are folded.
#ifndef ROLLCALL_COLLECTOR_REPORT_STACKS_H_
#define ROLLCALL_COLLECTOR_REPORT_STACKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// The frames, innermost first; the pointers point into the trace. Empty for kNoIndex.
std::vector<const SourceFrame*> FramesOf(const Trace& trace, uint32_t call_path);
std::vector<const SourceFrame*> FramesOf(const LiveStack& stack);

// CPU share in percent of one processor, rounded; -1: unknown.
int32_t CpuPercent(const LiveStack& stack);

bool HasPython(const std::vector<const SourceFrame*>& frames);
// The number of user frames (collector/matching/user_code.h).
size_t UserFrames(const std::vector<const SourceFrame*>& frames);

// "train.py:88" or "MPI.so+0x1234"; "train.py" or "?" if no more is known.
std::string FramePlace(const SourceFrame& frame);

// One line of text per frame, innermost first as in `frames`. Unless `full`, consecutive frames of
// frameworks become "… 6 frames of mpi4py, numpy", and equal consecutive lines become one line with
// a count.
std::vector<std::string> FrameLines(const std::vector<const SourceFrame*>& frames, bool full);
// FrameLines() of a call path, and lines that say which frames are missing.
std::vector<std::string> StackLines(const Trace& trace, uint32_t call_path, bool full);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_STACKS_H_
