// Calls that MPI rejected because of an invalid argument, independently of what other ranks pass.
#ifndef ROLLCALL_COLLECTOR_MODEL_REJECTIONS_H_
#define ROLLCALL_COLLECTOR_MODEL_REJECTIONS_H_

#include <optional>
#include <string>

#include "collector/model/trace.h"
#include "proto/mpi_errors.h"

namespace rollcall {

struct BadArgument {
  ErrorClass error = ErrorClass::kNone;  // MPI's error class for it
  std::string text;                      // "root 7"
  std::string allowed;                   // "MPI_COMM_WORLD has the ranks 0 to 3"; may be empty
};

// Finds a recorded argument that is invalid in every library and has error class `error` (any class
// if kNone). Empty if the record does not show one: an uncommitted datatype looks like any other.
std::optional<BadArgument> FindBadArgument(const Trace& trace, const Event& event,
                                           ErrorClass error = ErrorClass::kNone);

// Finds rejected calls that did not return (MPI_ERRORS_ARE_FATAL): open calls with such an
// argument, and those in which the library ended the process with the error class as exit status.
// Moves them from the open calls to Process::rejected and removes them from matching. Call it once,
// when it is known how the processes ended.
void ResolveRejections(Trace* trace);

// The function of MPI in which exit() was called on this path: "MPI_Comm_rank", also if its calls
// are not recorded. Empty if the library has no symbol of such a name there. Needs symbolized
// codes.
std::string MpiFunction(const Trace& trace, uint32_t call_path);

// Whether the process is inside a rejected call, or was ended there: it makes no further calls.
bool IsInsideRejected(const Process& process);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_REJECTIONS_H_
