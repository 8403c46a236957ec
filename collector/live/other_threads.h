// Whether a process could act by a thread that is inside no MPI call, seen from outside.
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

// What is known of a process' threads from its ring, by thread id.
struct CallingThreads {
  std::set<pid_t> waiting;  // inside an MPI call, or polling tightly: accounted for elsewhere
  std::set<pid_t> called;   // have called MPI at some time
};

// Reads /proc and memory; replaced by tests, which have neither.
class ThreadEvidence {
 public:
  virtual ~ThreadEvidence() = default;
  // The module that the thread's start routine lies in; empty: unknown, or the main thread.
  virtual std::string StartModule(pid_t tid) = 0;
  // The 32-bit word at `address`; nothing if it cannot be read.
  virtual std::optional<uint32_t> Word(uint64_t address) = 0;
};

// Judges two states of one process, the second read after the first. A thread waits for another one
// of its process if it is in a futex(2) wait without a timeout on a private futex (mutex, condition
// variable, semaphore), or on the thread id of another thread (pthread_join(3)), and was the same
// one both times without having run in between: then no such thread ran at the moment between the
// two readings. A runtime's own thread
// (StartsOwnThreads() of runtime_modules.h) makes none of the application's calls.
OtherThreads JudgeOtherThreads(const ProcessState& first, const ProcessState& second,
                               const CallingThreads& threads, ThreadEvidence* evidence);

// Looks twice at the process with this pid and start time, which calls itself `own_pid`: `threads`
// has the ids of its own pid namespace. kUnseen: it is gone, or may not be
// looked at. Costs some microseconds per thread; the first look at a process with more threads than
// those in `threads` reads its modules (a millisecond).
OtherThreads SampleOtherThreads(const ProcSource& proc, pid_t pid, uint32_t own_pid,
                                uint64_t start_ticks, const CallingThreads& threads);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_OTHER_THREADS_H_
