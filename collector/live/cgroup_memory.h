// Whether the kernel killed somebody in a process's container or job for want of memory. A rank
// killed so leaves no word; the counter of its control group does.
#ifndef ROLLCALL_COLLECTOR_LIVE_CGROUP_MEMORY_H_
#define ROLLCALL_COLLECTOR_LIVE_CGROUP_MEMORY_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "collector/base/proc_source.h"

namespace rollcall {

// The file that counts the OOM kills of `pid`'s memory control group, in version 1 or 2; empty if
// there is none or it is not mounted here. To be asked while the process lives: the answer stays
// good after its end, and the process's own entry does not.
std::string OomCounterPath(const ProcSource& proc, pid_t pid);

// The number of OOM kills so far in that group (version 2: and below it).
std::optional<uint64_t> ReadOomKills(const ProcSource& proc, const std::string& counter_path);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_CGROUP_MEMORY_H_
