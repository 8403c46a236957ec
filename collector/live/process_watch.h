// SPDX-License-Identifier: Apache-2.0
// Watches one process of this node: whether it lives and, after its end, how it ended.
//
// The kernel reports how a process ended to its parent only. `rollcall exec` is that parent where
// the launcher permits it. Elsewhere, Linux 6.15 and later also report the end to holders of a
// pidfd (PIDFD_GET_INFO with PIDFD_INFO_EXIT, include/uapi/linux/pidfd.h), after the parent has
// reaped the process. Until the parent has reaped the process, every Linux shows in /proc how it
// ended, to processes that may trace it.
#ifndef ROLLCALL_COLLECTOR_LIVE_PROCESS_WATCH_H_
#define ROLLCALL_COLLECTOR_LIVE_PROCESS_WATCH_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "collector/base/file.h"

namespace rollcall {

// CPU time of all threads of the process so far, including ended ones; 0 if there is no such
// process.
int64_t ProcessCpuNs(pid_t pid);

// Whether the process has ended but its parent has not waited for it yet.
bool IsZombie(pid_t pid);

// How a zombie ended: a status as from waitpid(2), read from field 52 of its stat in proc(5).
// Nothing if it is no zombie, has another start time, or may not be traced. Also nothing if it
// exited with 0, because the kernel shows 0 as well for a process that may not be traced.
std::optional<int> ZombieStatus(pid_t pid, uint64_t start_ticks);

// Recipients of the kernel's report on how a process ended. FindEndReports() starts a child process
// to determine them: call it before any thread is started. It waits for no other child.
enum class EndReports : uint8_t { kNoPidfds, kToParentOnly, kToPidfds };
EndReports FindEndReports();

// Holds a pidfd. Not thread-safe.
class ProcessWatch {
 public:
  // Starts watching; false if that process (this pid and start time) does not exist, or if the
  // kernel has no pidfds. Call while the process lives; afterwards it is not found.
  bool Open(pid_t pid, uint64_t start_ticks);

  bool open() const { return static_cast<bool>(pidfd_); }
  // Becomes readable when the process has ended (including as a zombie).
  int fd() const { return pidfd_.get(); }
  bool HasEnded() const;
  // The wait(2) status, if the kernel reports it. It may become available later than HasEnded():
  // when the parent has reaped the process.
  std::optional<int> WaitStatus() const;
  // Sends a signal to this process; never to another one that reuses its pid.
  bool Signal(int signal) const;

 private:
  UniqueFd pidfd_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PROCESS_WATCH_H_
