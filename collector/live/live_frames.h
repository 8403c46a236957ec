// SPDX-License-Identifier: Apache-2.0
// Builds a readable stack of a thread of another process.
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
  // Native frame: UnwoundStack::digests. Python frame: LivePythonFrame::digest, of this frame
  // alone. 0: unknown.
  uint64_t digest = 0;
  std::vector<PythonInteger> integers = {};  // of a Python frame, if requested
  std::string build_id = {};                 // of frame.module; empty: unknown, or Python's
  std::vector<Variable> variables = {};      // as `integers`
};

// Returns the thread's frames as one stack, innermost first; Python frames replace the native
// frames that run them (collector/model/python_merge.h). If Python's frames could not be read, one
// frame without a line states the reason.
std::vector<LiveFrame> LiveFrames(const LiveThread& thread, Symbolizer* symbolizer);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_LIVE_FRAMES_H_
