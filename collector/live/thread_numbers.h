// Thread ids of a process in a pid namespace of its own, a container: its ring and its memory have
// the ids of that namespace, /proc has those of this one.
#ifndef ROLLCALL_COLLECTOR_LIVE_THREAD_NUMBERS_H_
#define ROLLCALL_COLLECTOR_LIVE_THREAD_NUMBERS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "collector/base/proc_source.h"

namespace rollcall {

// Reads a file per thread at construction, unless `own_pid`, which the process calls itself, is
// `pid`: then all ids are the same, and nothing is read.
class ThreadNumbers {
 public:
  ThreadNumbers(const ProcSource& proc, pid_t pid, uint32_t own_pid);

  // The process' own id of what is thread `tid` here, and the reverse; 0 if there is none.
  pid_t Own(pid_t tid) const;
  pid_t Here(pid_t own) const;

 private:
  const bool same_;
  std::map<pid_t, pid_t> own_by_tid_;
  std::map<pid_t, pid_t> tid_by_own_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_THREAD_NUMBERS_H_
