// What lies on disk after, or during, a job: run directories and single ring files, into one Trace.
#ifndef ROLLCALL_COLLECTOR_IMPORT_RUN_DIRECTORY_H_
#define ROLLCALL_COLLECTOR_IMPORT_RUN_DIRECTORY_H_

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "collector/import/bundle/reader.h"
#include "collector/import/trace_builder.h"
#include "collector/model/trace.h"

namespace rollcall {

// What the loader asks the machine. Tests put another one in its place.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::string Hostname() = 0;
  // Start time in clock ticks since boot (/proc/<pid>/stat field 22); 0 if there is no such
  // process.
  virtual uint64_t StartTicks(uint32_t pid) = 0;
  virtual int64_t NowNs() = 0;  // CLOCK_REALTIME
  virtual void Wait(std::chrono::milliseconds time) = 0;
};

// This machine. Owned by the library; thread-safe.
Machine& ThisMachine();

// The problem of a directory in which nothing is a trace.
inline constexpr char kNoTraces[] = "no traces in this directory";

struct LoadOptions {
  // Between the two looks at processes that are alive.
  std::chrono::milliseconds settle{100};
  // Hears of what is in a bundle besides rings and journals, with its name for messages. May be
  // empty; called by the caller's thread.
  std::function<void(const std::string& name, bundle::Member)> on_member;
};

// Loads `inputs`: each a run directory, a directory of rings, a ring file, a journal or a bundle.
// Files are recognised by what they hold; in directories, those that cannot be a trace (by name and
// content) are passed over in silence. What cannot be read is a problem of the trace, and so is a
// missing rank.
//
// Quiet. A process that is alive is quiet if two looks at it, `settle` apart, found no movement.
// One that is gone cannot move any more, but the rings alone do not tell whether it stood still
// before it was killed: it is quiet only if the journal says so of just this state. Process::quiet
// stays false otherwise, which leaves no verdict proven stuck.
//
// A process counts as gone (ProcessEnd::kVanished, unless the journal knows better) when its ring
// was made on this host and its pid is not there or was given to another process since.
//
// Files are read by several threads; `machine` is asked by the caller's
// only. Throws nothing but std::bad_alloc. Never writes. Does not block on FIFOs or devices.
Trace LoadTrace(const std::vector<std::string>& inputs, const LoadOptions& options = {},
                Machine& machine = ThisMachine());

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_RUN_DIRECTORY_H_
