// How long processes have been still, and what follows for processes that may continue by
// themselves. Pure functions of a trace.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_STILLNESS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_STILLNESS_H_

#include <cstdint>

#include "collector/diagnosis/graph/options.h"
#include "collector/model/trace.h"

namespace rollcall {

// How long a process has entered and completed no call, not counting failed polls; -1 if unknown.
int64_t IdleNs(const DiagnoseOptions& options, const Process& process);

// For a job that is over: a hang was reported, and the process has not moved since.
bool WasJudged(const DiagnoseOptions& options, const Process& process);

// The thread by whose polls a process waits, as far as one sample shows: it polls tightly, or it
// has made only failed polls for the time that makes a rank stalled. nullptr: whatever the process
// polled for, it is outside every call and may do anything next.
const Thread* WaitingPoller(const DiagnoseOptions& options, const Process& process);

// The thread only polls, without any work in between.
bool PollsTightly(const Thread& thread);

// Whether the process waits by this thread's polls. See WaitingPoller().
bool WaitsByPolling(const DiagnoseOptions& options, const Process& process, const Thread& thread);

// How long a process that waits by polling, or that may have another thread that acts, has looked
// like a waiting one; -1 if unknown.
int64_t WaitedNs(const DiagnoseOptions& options, const Process& process);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_STILLNESS_H_
