// SPDX-License-Identifier: Apache-2.0
// In a large job, few records of each process are read at first. This file selects the processes
// whose whole history may add to the findings.
#ifndef ROLLCALL_COLLECTOR_SERVICE_HISTORY_NEED_H_
#define ROLLCALL_COLLECTOR_SERVICE_HISTORY_NEED_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall::service {

// Processes and records to fetch for a call that all members have made and that some may still be
// in. The trace lacks the counts that the members passed to that call.
struct CountsNeed {
  std::set<uint32_t> processes;  // indices into trace.processes
  uint64_t newest_records = 0;   // this many records include the call with its counts
};

// Empty if there is no such call, or if its counts take more than `max_bytes` in all. Pure.
CountsNeed MissingCounts(const Trace& trace, uint64_t max_bytes);

// Indices into trace.processes, at most `most`, in this order:
// - For each finding: its culprits and the members of its communicator. If the communicator has too
//   many members: one member of each class that made the same calls (by checkpoints).
// - For each communicator on which one of these processes has not made the newest call: one member
//   of each class, of four classes at most.
// - One process for each place at which processes wait.
// Pure.
std::set<uint32_t> SelectForWholeHistory(const Trace& trace, const Report& report, size_t most);

// Indices into trace.processes: of the first hang with culprits, a few culprits and a few ranks
// that wait, one for each place, as far as they live and are inside a call. Empty unless
// there are both. Pure.
std::vector<uint32_t> SelectForVariables(const Trace& trace, const Report& report);

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_HISTORY_NEED_H_
