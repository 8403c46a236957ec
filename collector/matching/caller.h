// SPDX-License-Identifier: Apache-2.0
// The caller of a call that is outside of the program's normal course: a destructor, the garbage
// collector, …
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
    kErrorPath,  // after the call, the function ends the program or throws
  };
  Kind kind = Kind::kDestructor;
  SourceFrame frame = {};  // the function
  int ends = 0;            // kErrorPath: the line that ends the program or throws
  bool exits = false;      // kErrorPath: the line ends the program, and does not throw
};

// The caller of the call of `path`, among the frames below the place where `path` diverges from
// `other`. Empty if none of these kinds fits. A destructor counts only if it is called directly
// where the paths diverge.
std::optional<Caller> FindCaller(const CallSites& sites, uint32_t path, uint32_t other);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_CALLER_H_
