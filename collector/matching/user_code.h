// Which frames are the user's own: those that a verdict shows.
#ifndef ROLLCALL_COLLECTOR_MATCHING_USER_CODE_H_
#define ROLLCALL_COLLECTOR_MATCHING_USER_CODE_H_

#include <string>
#include <string_view>
#include <vector>

#include "collector/model/source_frame.h"

namespace rollcall {

// IsRuntime() of runtime_modules.h, or Python's interpreter.
bool IsRuntimeModule(std::string_view path);

// What a frame belongs to if it is not the user's own: "mpi4py", "numpy" (a package below
// site-packages or dist-packages, whatever its language), "Python" (its standard library and the
// interpreter), "libmpi" (a runtime module). Empty for the user's own code, to which notebooks,
// exec()'d strings and everything else count that lies in no such place.
std::string FrameworkOf(const SourceFrame& frame);
inline bool IsFrameworkFrame(const SourceFrame& frame) { return !FrameworkOf(frame).empty(); }

// A line of the user's own code, not of a header of the C++ library.
bool IsUserLine(const SourceFrame& frame);

// Of frames, innermost first, without those that NCCL's own function called: the innermost of the
// user's with a line; else the innermost with a line that is not of a runtime module, Python's
// before native ones; else the innermost of no runtime module; else the innermost; nullptr if there
// is none.
const SourceFrame* InnermostUserFrame(const std::vector<const SourceFrame*>& frames);

// "solver.c:88"; empty if unknown.
std::string PlaceText(const SourceFrame& frame);
// "exchange()", "the top level of train.py".
std::string FunctionText(const SourceFrame& frame);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_USER_CODE_H_
