// SPDX-License-Identifier: Apache-2.0
// Finds the frames of the user's own code, which a verdict shows.
#ifndef ROLLCALL_COLLECTOR_MATCHING_USER_CODE_H_
#define ROLLCALL_COLLECTOR_MATCHING_USER_CODE_H_

#include <string>
#include <string_view>
#include <vector>

#include "collector/model/source_frame.h"

namespace rollcall {

// Whether the module is a runtime library (IsRuntime() of runtime_modules.h) or Python's
// interpreter.
bool IsRuntimeModule(std::string_view path);

// The framework that a frame belongs to: "mpi4py", "numpy" (a package below site-packages or
// dist-packages, in any language), "Python" (its standard library and the interpreter), "libmpi" (a
// runtime module). Empty for the user's own code, which is all other code, including notebooks and
// strings passed to exec().
std::string FrameworkOf(const SourceFrame& frame);
inline bool IsFrameworkFrame(const SourceFrame& frame) { return !FrameworkOf(frame).empty(); }

// Whether the frame has a line of the user's own code. Headers of the C++ library do not count.
bool IsUserLine(const SourceFrame& frame);

// Selects one of `frames` (innermost first), ignoring frames called from inside NCCL functions. The
// choices, best first: the innermost user frame with a line; the innermost Python frame with a
// line; the innermost frame with a line outside runtime modules; the innermost frame outside
// runtime modules; the innermost frame. nullptr if there are no frames.
const SourceFrame* InnermostUserFrame(const std::vector<const SourceFrame*>& frames);
// The same for a list of frames, which owns the result.
const SourceFrame* InnermostUserFrame(const std::vector<SourceFrame>& frames);

// "solver.c:88"; empty if unknown.
std::string PlaceText(const SourceFrame& frame);
// "exchange()", "the top level of train.py".
std::string FunctionText(const SourceFrame& frame);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_USER_CODE_H_
