// SPDX-License-Identifier: Apache-2.0
// Observes a process's threads from outside, in addition to its ring: which threads poll tightly,
// and whether a thread outside every MPI call might act.
#ifndef ROLLCALL_COLLECTOR_AGENT_THREAD_WATCH_H_
#define ROLLCALL_COLLECTOR_AGENT_THREAD_WATCH_H_

#include <sys/types.h>

#include <map>
#include <set>
#include <vector>

#include "collector/agent/poll_watch.h"
#include "collector/agent/ring_sample.h"
#include "collector/base/proc_source.h"
#include "collector/import/journal.h"
#include "collector/model/trace.h"

namespace rollcall::agent {

// Watches one process. `pid` is its id in this pid namespace. Thread ids in samples and results are
// ids in the process's own namespace. If `pid` is not positive, nothing is known.
class ThreadWatch {
 public:
  // Call after a sample without movement. Reads one file of /proc for each thread that polls.
  void Sample(const ProcSource& proc, pid_t pid, const RingSample& sample, int64_t now_ns);
  // Call after a sample with movement.
  void Reset() { watches_.clear(); }

  // Times are in CLOCK_REALTIME, which is `realtime_offset_ns` ahead of CLOCK_MONOTONIC.
  std::vector<journal::TightPoll> TightPolls(int64_t realtime_offset_ns) const;
  // Total CPU time of the threads that neither wait inside a call nor poll tightly. These threads
  // may compute what the other ranks wait for. 0 if unknown.
  int64_t CpuOutsideNs(const ProcSource& proc, pid_t pid, const RingSample& sample) const;
  OtherThreads SampleOthers(const ProcSource& proc, pid_t pid, const RingSample& sample) const;

 private:
  // The threads inside a call or polling tightly.
  std::set<pid_t> Waiting(const RingSample& sample) const;

  std::map<uint32_t, PollWatch> watches_;  // by thread id
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_THREAD_WATCH_H_
