// SPDX-License-Identifier: Apache-2.0
// Calls that MPI rejected because of an argument that is invalid whatever other ranks pass.
#ifndef ROLLCALL_COLLECTOR_MODEL_REJECTIONS_H_
#define ROLLCALL_COLLECTOR_MODEL_REJECTIONS_H_

#include <optional>
#include <string>

#include "collector/model/trace.h"
#include "proto/mpi_errors.h"

namespace rollcall {

struct BadArgument {
  ErrorClass error = ErrorClass::kNone;  // MPI's error class for the argument
  std::string text;                      // "root 7"
  std::string allowed;                   // "MPI_COMM_WORLD has the ranks 0 to 3"; may be empty
};

// Finds a recorded argument that is invalid in every library and has error class `error` (any class
// if kNone). Empty if the record does not show such an argument: an uncommitted datatype, for
// example, looks like any other datatype.
std::optional<BadArgument> FindBadArgument(const Trace& trace, const Event& event,
                                           ErrorClass error = ErrorClass::kNone);

// Finds rejected calls that did not return (MPI_ERRORS_ARE_FATAL): open calls with such an
// argument, and open calls in which the library ended the process with the error class as exit
// status. Moves these calls from the open calls to Process::rejected and removes them from
// matching. Call this once, when it is known how the processes ended.
void ResolveRejections(Trace* trace);

// The function of MPI in which exit() was called on this path: "MPI_Comm_rank". Also finds
// functions whose calls are not recorded. Empty if no frame of the library there has such a symbol.
// Needs symbolized codes.
std::string MpiFunction(const Trace& trace, uint32_t call_path);

// Whether the process is inside a rejected call, or was ended there. It makes no further calls.
bool IsInsideRejected(const Process& process);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_REJECTIONS_H_
