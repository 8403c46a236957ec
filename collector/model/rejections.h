// Calls that MPI rejected for an argument that is wrong by itself, whatever the other ranks pass.
#ifndef ROLLCALL_COLLECTOR_MODEL_REJECTIONS_H_
#define ROLLCALL_COLLECTOR_MODEL_REJECTIONS_H_

#include <optional>
#include <string>

#include "collector/model/trace.h"
#include "proto/mpi_errors.h"

namespace rollcall {

struct BadArgument {
  ErrorClass error = ErrorClass::kNone;  // what MPI calls it
  std::string text;                      // "root 7"
  std::string allowed;                   // "MPI_COMM_WORLD has the ranks 0 to 3"; may be empty
};

// The recorded argument that no library can accept; of this class, unless kNone. Nothing where the
// record does not decide: a datatype that was not committed looks like any other.
std::optional<BadArgument> FindBadArgument(const Trace& trace, const Event& event,
                                           ErrorClass error = ErrorClass::kNone);

// A rejected call that does not return (MPI_ERRORS_ARE_FATAL) is an open call with such an
// argument, or of a process that the library ended inside it with the error's class as exit status.
// Moves these from the open calls to Process::rejected, and out of what is matched. To be called
// once, when it is known how the processes ended.
void ResolveRejections(Trace* trace);

// The process does nothing more: it is inside a rejected call, or was ended there.
bool IsInsideRejected(const Process& process);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_REJECTIONS_H_
