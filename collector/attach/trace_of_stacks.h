// SPDX-License-Identifier: Apache-2.0
// Builds the trace of a job whose calls are not recorded: the place of each rank, from two samples
// of the rank or from its core file. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_TRACE_OF_STACKS_H_
#define ROLLCALL_COLLECTOR_ATTACH_TRACE_OF_STACKS_H_

#include <string>
#include <vector>

#include "collector/attach/frame_meaning.h"
#include "collector/attach/job_finder.h"
#include "collector/attach/observation.h"
#include "collector/model/trace.h"

namespace rollcall::attach {

// The thread that shows best what the rank waits for: the main thread, or the first one inside MPI,
// NCCL or torch.distributed if the main thread is in none. Null if it has no stack.
const ThreadSample* Representative(const RankSample& sample, StackMeaning* meaning);

// Whether only a communication library has frames in the thread. Such a thread makes none of the
// application's calls.
bool IsOfLibrary(const ThreadSample& thread);

// Whether the thread waits for Python's global interpreter lock.
bool WaitsForGil(const ThreadSample& thread);

// The result has one process for each observed rank, in their order, with its place (the place of
// Representative()) and all threads as live stacks. `host` is the host of the ranks that name none.
// Sources are not included.
Trace TraceOfStacks(const FoundJob& job, const std::string& host,
                    const std::vector<ObservedRank>& observed);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_TRACE_OF_STACKS_H_
