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

// "train.py:88", "MPI.so+0x1234"; "train.py" or "?" if nothing better is known.
std::string FramePlace(const SourceFrame& frame);

// One line of text per frame, innermost first as in `frames`. Unless `full`, consecutive frames
// that are not the user's become "… 6 frames of mpi4py, numpy", and equal consecutive lines become
// one with a count.
std::vector<std::string> FrameLines(const std::vector<const SourceFrame*>& frames, bool full);
// FrameLines() of a call path, plus lines that say what was not recorded.
std::vector<std::string> StackLines(const Trace& trace, uint32_t call_path, bool full);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_STACKS_H_
