// SPDX-License-Identifier: Apache-2.0
// Detects OOM kills in a process's container or job. A rank killed for lack of memory leaves no
// message, but the counter of its control group increases.
#ifndef ROLLCALL_COLLECTOR_LIVE_CGROUP_MEMORY_H_
#define ROLLCALL_COLLECTOR_LIVE_CGROUP_MEMORY_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "collector/base/proc_source.h"

namespace rollcall {

// The file that counts the OOM kills of `pid`'s memory control group, in version 1 or 2. Empty if
// there is no such file or if it is not mounted here. Call while the process lives: the returned
// path stays valid after the process has ended, but /proc/<pid>/cgroup does not.
std::string OomCounterPath(const ProcSource& proc, pid_t pid);

// Number of OOM kills so far in that group (version 2: including its descendants).
std::optional<uint64_t> ReadOomKills(const ProcSource& proc, const std::string& counter_path);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_CGROUP_MEMORY_H_
