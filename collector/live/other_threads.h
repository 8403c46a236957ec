// SPDX-License-Identifier: Apache-2.0
// Decides from outside whether a process could act through a thread that is inside no MPI call.
#ifndef ROLLCALL_COLLECTOR_LIVE_OTHER_THREADS_H_
#define ROLLCALL_COLLECTOR_LIVE_OTHER_THREADS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "collector/base/proc_source.h"
#include "collector/live/process_image.h"
#include "collector/live/process_state.h"
#include "collector/model/trace.h"

namespace rollcall {

// Knowledge about a process's threads from its ring, by thread id.
struct CallingThreads {
  std::set<pid_t> waiting;  // inside an MPI call, or polling tightly: handled elsewhere
  std::set<pid_t> called;   // have ever called MPI
};

// Reads /proc and memory; replaced by tests, which have neither.
class ThreadEvidence {
 public:
  virtual ~ThreadEvidence() = default;
  // The module that contains the thread's start routine; empty: unknown, or the main thread.
  virtual std::string StartModule(pid_t tid) = 0;
  // The 32-bit word at `address`; nothing if it cannot be read.
  virtual std::optional<uint32_t> Word(uint64_t address) = 0;
};

// Compares two states of one process, the second read after the first. A thread waits for another
// thread of its process if three conditions hold. It was in the same futex(2) wait without timeout
// in both states. It did not run in between. The futex is private (mutex, condition variable,
// semaphore), or holds the thread id of another thread (pthread_join(3)). Such a thread did not run
// at the moment between the two readings. A runtime's own thread (StartsOwnThreads() of
// runtime_modules.h) makes none of the application's calls.
OtherThreads JudgeOtherThreads(const ProcessState& first, const ProcessState& second,
                               const CallingThreads& threads, ThreadEvidence* evidence);

// Samples the process with this pid and start time twice. `own_pid` is its pid in its own
// namespace, to which the ids in `threads` belong. kUnseen: it has ended, or access is denied.
// Costs some microseconds per thread; the first sample of a process that has threads besides those
// in `threads` reads its modules (a millisecond).
OtherThreads SampleOtherThreads(const ProcSource& proc, pid_t pid, uint32_t own_pid,
                                uint64_t start_ticks, const CallingThreads& threads);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_OTHER_THREADS_H_
