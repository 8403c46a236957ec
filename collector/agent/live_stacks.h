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
  // Nothing also if a thread that runs the user's code uses the processor or waits for a disk.
  std::optional<OutsideWait> outside_wait;
};

// Samples the process's state twice, 100 ms apart, and takes its stacks in between; takes that long
// plus up to half a second. Empty if the process has ended; leaves out threads that have ended. If
// a stack cannot be taken, `unreadable` says why and which setting would allow it. `all_here`: see
// ProcessSockets. `wait_only`: only whether it waits outside the job is asked; a process that runs
// is left alone. May be called from any thread, one call at a time.
LiveLook TakeLiveStacks(pid_t pid, uint64_t start_ticks, bool all_here, bool wait_only,
                        Symbolizer* symbolizer);

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_LIVE_STACKS_H_
