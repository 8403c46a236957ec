// SPDX-License-Identifier: Apache-2.0
// Messages that a receive with MPI_ANY_SOURCE could have taken in another order.
#ifndef ROLLCALL_COLLECTOR_SCHEDULES_MESSAGE_RACES_H_
#define ROLLCALL_COLLECTOR_SCHEDULES_MESSAGE_RACES_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/graph/aligned_trace.h"
#include "collector/schedules/schedule.h"

namespace rollcall {

// One schedule for each message that may come before messages of other senders, unless MPI's order
// or the recorded calls rule that out. The trace has one world. Senders that have lost records are
// left out: their messages cannot be counted.
std::vector<Schedule> FindMessageRaces(const AlignedTrace& aligned, uint64_t seed);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SCHEDULES_MESSAGE_RACES_H_
