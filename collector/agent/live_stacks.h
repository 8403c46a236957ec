// SPDX-License-Identifier: Apache-2.0
// Inspects a stalled process from outside: the activity and stacks of its threads.
#ifndef ROLLCALL_COLLECTOR_AGENT_LIVE_STACKS_H_
#define ROLLCALL_COLLECTOR_AGENT_LIVE_STACKS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "collector/model/trace.h"
#include "collector/symbolize/symbolizer.h"

namespace rollcall::agent {

struct LiveLook {
  std::vector<LiveStack> stacks;
  // Also empty if a thread that runs the user's code uses the processor or waits for a disk.
  std::optional<OutsideWait> outside_wait;
};

// Samples the process's state twice, 100 ms apart, and takes its stacks in between. This takes 100
// ms and up to half a second more. Empty if the process has ended; threads that have ended are left
// out. If a stack cannot be taken, `unreadable` contains the reason and the setting that would
// allow it. `all_here`: see ProcessSockets. `wait_only`: only determines whether the process waits
// for the world outside the job; a process that runs is left alone. May be called from any thread,
// one call at a time.
LiveLook TakeLiveStacks(pid_t pid, uint64_t start_ticks, bool all_here, bool wait_only,
                        Symbolizer* symbolizer);

// Returns the variables of the user's frames of thread `tid` (0: the main thread), outermost first:
// of the Python frames if there are any, else of those with debug information. Empty if there are
// none, or if they cannot be read. The thread is held for a few microseconds per frame. May be
// called from any thread, one call at a time.
std::vector<VariablesOfFrame> TakeVariables(pid_t pid, uint64_t start_ticks, pid_t tid,
                                            Symbolizer* symbolizer);

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_LIVE_STACKS_H_
