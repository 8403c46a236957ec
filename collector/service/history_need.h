// In a large job, few records of each process are read at first. Selects the processes whose whole
// history may add to the findings.
#ifndef ROLLCALL_COLLECTOR_SERVICE_HISTORY_NEED_H_
#define ROLLCALL_COLLECTOR_SERVICE_HISTORY_NEED_H_

#include <cstddef>
#include <cstdint>
#include <set>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall::service {

// Processes and records to fetch because all members have made a call that some may still be in,
// and the counts that they passed are missing.
struct CountsNeed {
  std::set<uint32_t> processes;  // indices into trace.processes
  uint64_t newest_records = 0;   // so many hold the call with its counts
};

// Empty if there is no such call, or if its counts take more than `max_bytes` in all. Pure.
CountsNeed MissingCounts(const Trace& trace, uint64_t max_bytes);

// Indices into trace.processes, at most `most`. For each finding: its culprits and the members of
// its communicator; if those are too many, one member of each class that made the same calls (by
// checkpoints). Then, for each communicator on which one of these has not made the newest call, one
// member of each class, of four classes at most. Last, one process for each place at which
// processes wait. Pure.
std::set<uint32_t> SelectForWholeHistory(const Trace& trace, const Report& report, size_t most);

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_HISTORY_NEED_H_
