// What can be seen of a process' threads from outside, besides its ring: who polls tightly, and
// whether a thread that is in no MPI call might act.
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

// Of one process. `pid` is its number here, which must be its own one, too: in another namespace
// thread ids mean other threads, and nothing is known.
class ThreadWatch {
 public:
  // After a sample that showed no movement. Costs a file of /proc for each thread that polls.
  void Sample(const ProcSource& proc, pid_t pid, const RingSample& sample, int64_t now_ns);
  // After one that did.
  void Reset() { watches_.clear(); }

  // In terms of CLOCK_REALTIME, `realtime_offset_ns` ahead of CLOCK_MONOTONIC.
  std::vector<journal::TightPoll> TightPolls(int64_t realtime_offset_ns) const;
  // CPU time so far of its threads that neither wait inside a call nor poll tightly: of those that
  // may compute what the others wait for. 0 if unknown.
  int64_t CpuOutsideNs(const ProcSource& proc, pid_t pid, const RingSample& sample) const;
  OtherThreads SampleOthers(const ProcSource& proc, pid_t pid, const RingSample& sample) const;

 private:
  // The threads inside a call or polling tightly.
  std::set<pid_t> Waiting(const RingSample& sample) const;

  std::map<uint32_t, PollWatch> watches_;  // by thread id
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_THREAD_WATCH_H_
