// SPDX-License-Identifier: Apache-2.0
// Other schedules of a job that has run: what `rollcall check --schedules` tries next.
#ifndef ROLLCALL_COLLECTOR_SCHEDULES_SCHEDULE_H_
#define ROLLCALL_COLLECTOR_SCHEDULES_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/diagnosis/graph/options.h"
#include "collector/model/trace.h"

namespace rollcall {

struct Schedule {
  std::string title;  // what differs from the first run, as a phrase for the user
  std::string lines;  // of a plan (proto/steer_plan.h), each with its end; without header and bound
  int suspicion = 0;  // the larger, the earlier it is tried

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// The `count` most suspicious schedules of the job of `trace`, most suspicious first. If the
// records show fewer, ranks and calls that `seed` chooses are slowed down. Fewer than `count` only
// if no rank made a call, or if the job has more ranks than a plan can name (steer::kMaxRanks).
// Pure: the same arguments give the same schedules.
std::vector<Schedule> FindSchedules(const Trace& trace, const DiagnoseOptions& options,
                                    size_t count, uint64_t seed);

// The text of a plan. `host`: of the ranks; `bound_ms`: the longest wait in one call.
std::string PlanText(const Schedule& schedule, const std::string& host, uint32_t bound_ms);

// The title of the schedule that PlanText() wrote, fit for a terminal; empty if the text has none.
std::string TitleOf(const std::string& plan);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SCHEDULES_SCHEDULE_H_
