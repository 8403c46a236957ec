// Which process wrote a ring. A rank in a container counts processes by itself: its own number is
// often 1, as is that of the rank beside it.
#ifndef ROLLCALL_COLLECTOR_BASE_PROCESS_TABLE_H_
#define ROLLCALL_COLLECTOR_BASE_PROCESS_TABLE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>

#include "collector/base/proc_source.h"

namespace rollcall {

// Field 22 of /proc/<pid>/stat: when the process started, clock ticks since boot; 0 if there is
// none. With the pid it names a process for good: a pid alone is reused.
uint64_t ProcessStartTicks(pid_t pid);

// The inode of this process' pid namespace (pid_namespaces(7)); 0 if it cannot be read.
uint64_t OwnPidNamespace();

// The number that a process, or a thread, has in its own pid namespace: NSpid of proc(5).
// `directory` is that of it below /proc. 0 if it is gone or may not be seen.
uint32_t OwnNumber(const ProcSource& proc, const std::string& directory);

// Looks through /proc once, at the first process that is not found by its own number. Who started
// after that may not be found. Not thread-safe.
class ProcessTable {
 public:
  explicit ProcessTable(const ProcSource& proc = ProcSource()) : proc_(proc) {}

  // The process that calls itself `own_pid` in its own pid namespace and started then, as a pid of
  // this one; 0 if there is none, or if its namespace cannot be seen from here. Of several it is
  // the one that has mapped a file named `ring_name`, of any directory.
  pid_t Find(uint32_t own_pid, uint64_t start_ticks, const std::string& ring_name);

 private:
  uint64_t StartTicks(pid_t pid) const;
  bool HasMapped(pid_t pid, const std::string& ring_name) const;

  const ProcSource proc_;
  bool read_ = false;
  std::unordered_multimap<uint64_t, pid_t> by_start_ticks_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_PROCESS_TABLE_H_
