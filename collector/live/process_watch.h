// Whether one process of this node still lives and, once it does not, how it ended.
//
// How a process ended is told to its parent only. `rollcall exec` is that parent where the launcher
// lets it be; elsewhere Linux 6.15 and later tell it to who holds a pidfd (PIDFD_GET_INFO with
// PIDFD_INFO_EXIT, include/uapi/linux/pidfd.h), once the parent has reaped the process; and until
// then every Linux tells it in /proc to who may trace the process.
#ifndef ROLLCALL_COLLECTOR_LIVE_PROCESS_WATCH_H_
#define ROLLCALL_COLLECTOR_LIVE_PROCESS_WATCH_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "collector/base/file.h"

namespace rollcall {

// CPU time of all its threads so far, also of those that ended; 0 if there is no such process.
int64_t ProcessCpuNs(pid_t pid);

// Whether it ended and its parent has not waited for it yet.
bool IsZombie(pid_t pid);

// How such a process ended: a status as of waitpid(2), by field 52 of its stat in proc(5). Nothing
// if it is no zombie, not the process that started then, or may not be traced; nor if it exited
// with 0, which is what the kernel shows in the last case.
std::optional<int> ZombieStatus(pid_t pid, uint64_t start_ticks);

// Whether the kernel reports to who holds a pidfd how a process ended. Tries it on a child of its
// own: before any thread is started. Waits for no other child.
enum class EndReports : uint8_t { kNoPidfds, kToParentOnly, kToPidfds };
EndReports FindEndReports();

// Holds a pidfd. Not thread-safe.
class ProcessWatch {
 public:
  // Begins to watch; false if that process (this pid, started then) is not there, or if the kernel
  // has no pidfds. Call it while the process lives: a later call finds nothing.
  bool Open(pid_t pid, uint64_t start_ticks);

  bool open() const { return static_cast<bool>(pidfd_); }
  // Readable once the process ended (also while it is a zombie).
  int fd() const { return pidfd_.get(); }
  bool HasEnded() const;
  // The wait(2) status, if the kernel tells it. It may come a little later than HasEnded(): when
  // the parent has reaped the process.
  std::optional<int> WaitStatus() const;
  // Sends a signal to this very process; never to another one that got its pid.
  bool Signal(int signal) const;

 private:
  UniqueFd pidfd_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PROCESS_WATCH_H_
