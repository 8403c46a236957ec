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
#include <unordered_map>

#include "collector/base/file.h"

namespace rollcall {

// Field 22 of /proc/<pid>/stat: when the process started, clock ticks since boot; 0 if there is
// none. With the pid it names a process for good: a pid alone is reused.
uint64_t ProcessStartTicks(pid_t pid);

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

// The process that calls itself `own_pid` in its pid namespace and started then, as a pid of this
// one; 0 if there is none. Looks through /proc when it is not the pid itself: once per ring, not
// per sample.
pid_t FindProcess(uint32_t own_pid, uint64_t start_ticks);

// The same for many rings: looks through /proc once, at the first of them that needs it. Who
// started after that may not be found. Not thread-safe.
class ProcessTable {
 public:
  pid_t Find(uint32_t own_pid, uint64_t start_ticks);

 private:
  bool read_ = false;
  std::unordered_multimap<uint64_t, pid_t> by_start_ticks_;
};

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
