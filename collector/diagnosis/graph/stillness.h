// How long processes have stood still, and what that allows to conclude of those that may go on by
// themselves. Pure functions of a trace.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_STILLNESS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_STILLNESS_H_

#include <cstdint>

#include "collector/diagnosis/graph/options.h"
#include "collector/model/trace.h"

namespace rollcall {

// For how long a process has entered and completed no call, failed polls not counted; -1 if
// unknown.
int64_t IdleNs(const DiagnoseOptions& options, const Process& process);

// Of a job that is over. A hang was reported, and the process has not moved since.
bool WasJudged(const DiagnoseOptions& options, const Process& process);

// The thread whose polls a process waits by, as far as one look can tell: it polls tightly, or it
// has made no call but failed polls for as long as makes a rank stalled. nullptr: whatever the
// process polled for, it is outside every call and may do anything next.
const Thread* WaitingPoller(const DiagnoseOptions& options, const Process& process);

// It does nothing but poll, without any work in between.
bool PollsTightly(const Thread& thread);

// Does the process wait by this thread's polls? See WaitingPoller().
bool WaitsByPolling(const DiagnoseOptions& options, const Process& process, const Thread& thread);

// For how long a process that waits by polling, or may have another thread that acts, has looked
// like one that waits; -1 if unknown.
int64_t WaitedNs(const DiagnoseOptions& options, const Process& process);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_STILLNESS_H_
