// Of a large job few records are read at first. Whose whole history may say more of what was found?
#ifndef ROLLCALL_COLLECTOR_SERVICE_HISTORY_NEED_H_
#define ROLLCALL_COLLECTOR_SERVICE_HISTORY_NEED_H_

#include <cstddef>
#include <cstdint>
#include <set>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall::service {

// Where all have made a call that some may still be in, and the counts that they passed are not
// there.
struct CountsNeed {
  std::set<uint32_t> processes;  // indices into trace.processes
  uint64_t newest_records = 0;   // so many hold the call with its counts
};

// Nobody, if there is no such call, or its counts take more than `most_bytes` in all. Pure.
CountsNeed MissingCounts(const Trace& trace, uint64_t most_bytes);

// Indices into trace.processes, `most` at most: of each finding its culprits, and the members of
// its communicator; where those are too many, one of each class that made the same calls, as their
// checkpoints say; then one for each place at which processes stand. Pure.
std::set<uint32_t> WorthWholeHistory(const Trace& trace, const Report& report, size_t most);

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_HISTORY_NEED_H_
