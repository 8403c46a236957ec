// How long processes have stood still, and what that allows to conclude of those that may go on by
// themselves. Pure functions of a trace.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_STILLNESS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_STILLNESS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "collector/diagnosis/finding.h"
#include "collector/diagnosis/wait_graph.h"
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

// Does the process wait by this thread's polls? See WaitingPoller().
bool WaitsByPolling(const DiagnoseOptions& options, const Process& process, const Thread& thread);

// A wait that rests on weak ones (ProcessView::weak), or on counts that are not whole
// (Need::uncounted).
struct WeakWait {
  // kSuspected when none of these has moved for DiagnoseOptions::SuspectAfterNs(), kLikely after
  // LikelyAfterNs(), never more; kSuspected at most where one of them polls with work in between,
  // or the counts are not whole.
  // Nothing: too early to be reported.
  std::optional<Certainty> certainty;
  // Processes that wait weakly: by polling; because of a thread that might act; because nobody saw
  // their threads. And those whose message may have come uncounted. Rising.
  std::vector<uint32_t> polling;
  std::vector<uint32_t> with_threads;
  std::vector<uint32_t> unseen;
  std::vector<uint32_t> uncounted;
};

// Of `processes`: their own weak waits, and those of processes that they wait for.
WeakWait JudgeWeakWait(const Trace& trace, const DiagnoseOptions& options, const WaitGraph& graph,
                       const std::vector<uint32_t>& processes);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_STILLNESS_H_
