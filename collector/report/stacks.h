// Call paths as a report shows them: the user's own frames, the others folded.
#ifndef ROLLCALL_COLLECTOR_REPORT_STACKS_H_
#define ROLLCALL_COLLECTOR_REPORT_STACKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// Innermost first; pointers into the trace. Empty for kNoIndex.
std::vector<const SourceFrame*> FramesOf(const Trace& trace, uint32_t call_path);
std::vector<const SourceFrame*> FramesOf(const LiveStack& stack);

// Of one processor, rounded; -1: unknown.
int32_t CpuPercent(const LiveStack& stack);

bool HasPython(const std::vector<const SourceFrame*>& frames);
// How many of them are the user's own (collector/matching/user_code.h).
size_t UserFrames(const std::vector<const SourceFrame*>& frames);

// "train.py:88", "MPI.so+0x1234"; "train.py" and "?" where nothing better is known.
std::string FramePlace(const SourceFrame& frame);

// One line of text per frame, innermost first as in `frames`. Unless `full`, a row of frames that
// are not the user's becomes "… 6 frames of mpi4py, numpy", and one that recurs says how often.
std::vector<std::string> FrameLines(const std::vector<const SourceFrame*>& frames, bool full);
// The same of a call path, with what is not known of it.
std::vector<std::string> StackLines(const Trace& trace, uint32_t call_path, bool full);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_STACKS_H_
