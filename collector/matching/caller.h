// Who runs a call, if not the program in its normal course: a destructor, the garbage collector, …
#ifndef ROLLCALL_COLLECTOR_MATCHING_CALLER_H_
#define ROLLCALL_COLLECTOR_MATCHING_CALLER_H_

#include <cstdint>
#include <optional>

#include "collector/matching/call_site.h"

namespace rollcall {

struct Caller {
  enum class Kind : uint8_t {
    kDestructor,
    kFinalizer,  // __del__, or a callback of weakref: Python decides when it runs
    kExitHandler,
    kSignalHandler,
    kTask,       // of an executor
    kErrorPath,  // behind the call, the function ends the program or throws
  };
  Kind kind = Kind::kDestructor;
  SourceFrame frame = {};  // the function
  int ends = 0;            // kErrorPath: the line that does so
  bool exits = false;      // kErrorPath: it ends the program, and does not throw
};

// Of the call of `path`, below the place where it diverges from `other`; empty if it is nothing of
// that. A destructor counts only if it is called directly where they diverge.
std::optional<Caller> FindCaller(const CallSites& sites, uint32_t path, uint32_t other);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_CALLER_H_
