// SPDX-License-Identifier: Apache-2.0
// Which calls of a job must have been entered before a call of another rank: vector clocks.
#ifndef ROLLCALL_COLLECTOR_SCHEDULES_CLOCKS_H_
#define ROLLCALL_COLLECTOR_SCHEDULES_CLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collector/diagnosis/graph/aligned_trace.h"

namespace rollcall {

// For each process, the number of its calls that must have been entered.
using Clock = std::vector<uint32_t>;

// A send as one call of a process.
struct SendAt {
  uint32_t process = kNoIndex;
  size_t at = 0;  // in the timeline of the process
};

// The clocks of sends. Only orders that hold in every schedule count: through messages whose sender
// the receive names, and through the collectives that wait for other members. The order is a
// lower bound: a clock may lack calls, but never holds one that could come later.
class Clocks {
 public:
  // `timelines`: by process, as of AlignedTrace::Timeline(). Both must outlive this object.
  Clocks(const AlignedTrace& aligned, const std::vector<std::vector<const Event*>>& timelines);

  // nullptr if there is none: the job is too large. Owned by this object.
  const Clock* At(const SendAt& send) const;

 private:
  std::vector<std::vector<Clock>> clocks_;  // by process and call; empty clocks for other calls
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SCHEDULES_CLOCKS_H_
