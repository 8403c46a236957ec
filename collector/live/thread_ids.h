// SPDX-License-Identifier: Apache-2.0
// Translates thread ids of a process in a pid namespace of its own (a container). The process's
// ring and memory contain ids of that namespace. /proc contains ids of this process's namespace.
#ifndef ROLLCALL_COLLECTOR_LIVE_THREAD_IDS_H_
#define ROLLCALL_COLLECTOR_LIVE_THREAD_IDS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "collector/base/proc_source.h"

namespace rollcall {

// The constructor reads a file per thread, unless `own_pid`, the process's pid in its own
// namespace, equals `pid`: then all ids are equal, and nothing is read.
class ThreadIds {
 public:
  ThreadIds(const ProcSource& proc, pid_t pid, uint32_t own_pid);

  // ToOwnId() returns the process's own id for thread `tid` of this namespace, ToLocalId() the
  // reverse; 0 if there is none.
  pid_t ToOwnId(pid_t tid) const;
  pid_t ToLocalId(pid_t own) const;

 private:
  const bool same_;
  std::map<pid_t, pid_t> own_by_tid_;
  std::map<pid_t, pid_t> tid_by_own_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_THREAD_IDS_H_
