// SPDX-License-Identifier: Apache-2.0
// Finds the process that wrote a ring. A rank in a container has the pid of its own namespace,
// often 1. Other ranks may have the same pid, and may have started in the same clock tick.
#ifndef ROLLCALL_COLLECTOR_BASE_PROCESS_TABLE_H_
#define ROLLCALL_COLLECTOR_BASE_PROCESS_TABLE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>

#include "collector/base/proc_source.h"

namespace rollcall {

// Field 22 of /proc/<pid>/stat: when the process started, in clock ticks since boot; 0 if there is
// none. Together with the pid it identifies a process; a pid alone is reused.
uint64_t ProcessStartTicks(pid_t pid);

// The inode of this process' pid namespace (pid_namespaces(7)); 0 if it cannot be read.
uint64_t OwnPidNamespace();
// The namespace that contains all processes (include/linux/proc_ns.h).
inline constexpr uint64_t kInitialPidNamespace = 0xEFFFFFFC;

// The id that a process or thread has in its own pid namespace: NSpid of proc(5). `directory` is
// its directory below /proc. 0 if it is gone or may not be read.
uint32_t OwnNumber(const ProcSource& proc, const std::string& directory);

// The data in a ring about the process that wrote it.
struct RingWriter {
  uint32_t pid = 0;  // in its own pid namespace
  uint64_t start_ticks = 0;
  uint64_t pid_namespace = 0;  // 0: unknown, in a ring before version 1.7
};

// Scans /proc once, when the first process is not found by its own number. Processes that started
// after the scan may not be found. Not thread-safe.
class ProcessTable {
 public:
  explicit ProcessTable(const ProcSource& proc = ProcSource(),
                        uint64_t own_namespace = OwnPidNamespace())
      : proc_(proc), own_namespace_(own_namespace) {}

  enum class Life : uint8_t {
    kFound,  // it is there, perhaps as a zombie
    kGone,   // it has ended
    // it may be alive where this process cannot see it, or cannot be distinguished from others
    kHidden,
  };
  struct Result {
    Life life = Life::kGone;
    pid_t pid = 0;  // as seen from here; 0 unless found
  };
  Result Find(const RingWriter& writer);

 private:
  uint64_t StartTicks(pid_t pid) const;
  uint64_t NamespaceOf(pid_t pid) const;

  const ProcSource proc_;
  const uint64_t own_namespace_;
  bool read_ = false;
  std::unordered_multimap<uint64_t, pid_t> by_start_ticks_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_PROCESS_TABLE_H_
