// SPDX-License-Identifier: Apache-2.0
// When the members of a communicator arrived at its collectives.
#ifndef ROLLCALL_COLLECTOR_PAGE_ARRIVALS_H_
#define ROLLCALL_COLLECTOR_PAGE_ARRIVALS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collector/matching/communicator_history.h"
#include "collector/model/trace.h"

namespace rollcall::page {

// The arrivals at one sequence number.
struct Arrival {
  uint64_t sequence = 0;
  size_t arrived = 0;  // members
  int64_t first_ns = kNoTime;
  int64_t last_ns = kNoTime;
  uint32_t last_process = kNoIndex;
};

// The arrivals at `count` sequence numbers from `first` on, without numbers at which the arrival of
// a member is unknown. Empty if there are fewer than two members.
std::vector<Arrival> ArrivalsAt(const CommunicatorHistory& histories, uint64_t first, size_t count);

}  // namespace rollcall::page

#endif  // ROLLCALL_COLLECTOR_PAGE_ARRIVALS_H_
