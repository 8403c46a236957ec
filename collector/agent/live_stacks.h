// Inspects a stalled process from outside: the activity and stacks of its threads.
#ifndef ROLLCALL_COLLECTOR_AGENT_LIVE_STACKS_H_
#define ROLLCALL_COLLECTOR_AGENT_LIVE_STACKS_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "collector/model/trace.h"
#include "collector/symbolize/symbolizer.h"

namespace rollcall::agent {

// Samples the process's state twice, 100 ms apart, and takes its stacks in between; takes that long
// plus up to half a second. Empty if the process has ended; leaves out threads that have ended. If
// a stack cannot be taken, `unreadable` says why and which setting would allow it. May be called
// from any thread, one call at a time.
std::vector<LiveStack> TakeLiveStacks(pid_t pid, uint64_t start_ticks, Symbolizer* symbolizer);

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_LIVE_STACKS_H_
