// A stalled process seen from outside: what its threads do, and where they are.
#ifndef ROLLCALL_COLLECTOR_AGENT_LIVE_STACKS_H_
#define ROLLCALL_COLLECTOR_AGENT_LIVE_STACKS_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "collector/model/trace.h"
#include "collector/symbolize/symbolizer.h"

namespace rollcall::agent {

// Looks at the process twice, 100 ms apart, and takes its stacks in between: takes that long, and
// up to half a second more. Empty if it is not there any more; without the threads that have ended.
// Where a stack cannot be taken, `unreadable` says why and which setting would allow it. May be
// called from any thread, one at a time.
std::vector<LiveStack> TakeLiveStacks(pid_t pid, uint64_t start_ticks, Symbolizer* symbolizer);

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_LIVE_STACKS_H_
