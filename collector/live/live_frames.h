// The stack of a thread of another process as a person reads it.
#ifndef ROLLCALL_COLLECTOR_LIVE_LIVE_FRAMES_H_
#define ROLLCALL_COLLECTOR_LIVE_LIVE_FRAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/live/live_stack.h"
#include "collector/model/source_frame.h"
#include "collector/symbolize/symbolizer.h"

namespace rollcall {

struct LiveFrame {
  SourceFrame frame;
  // Native: UnwoundStack::digests. Python: LivePythonFrame::digest, of this frame alone. 0:
  // unknown.
  uint64_t digest = 0;
  std::vector<PythonInteger> integers = {};  // Python's, if they were asked for
  std::string build_id = {};                 // of frame.module; empty: unknown, or Python's
};

// The thread's frames as one stack, innermost first: Python's in the place of the native ones that
// run them (collector/model/python_merge.h). Where Python's could not be read, one frame without a
// line says why.
std::vector<LiveFrame> LiveFrames(const LiveThread& thread, Symbolizer* symbolizer);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_LIVE_FRAMES_H_
