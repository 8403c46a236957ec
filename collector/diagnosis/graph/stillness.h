// SPDX-License-Identifier: Apache-2.0
// How long processes have been still, and which of the processes that may continue by themselves
// count as waiting. Pure functions of a trace.
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

// The thread by whose polls a process waits, as far as one sample shows. Such a thread polls
// tightly, or has made only failed polls for the time that makes a rank stalled. nullptr: the
// process is outside every call and may do anything next, even if it polled before.
const Thread* WaitingPoller(const DiagnoseOptions& options, const Process& process);

// Whether the thread only polls, without any work in between.
bool PollsTightly(const Thread& thread);

// Whether the process waits by this thread's polls. See WaitingPoller().
bool WaitsByPolling(const DiagnoseOptions& options, const Process& process, const Thread& thread);

// For a process that waits by polling, or that may have another thread that acts: how long it has
// looked like a waiting process. -1 if unknown.
int64_t WaitedNs(const DiagnoseOptions& options, const Process& process);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_STILLNESS_H_
