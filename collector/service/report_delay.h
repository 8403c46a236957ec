// SPDX-License-Identifier: Apache-2.0
// Decides whether a report is worth reporting, and whether it should wait for ranks that would
// complete it.
#ifndef ROLLCALL_COLLECTOR_SERVICE_REPORT_DELAY_H_
#define ROLLCALL_COLLECTOR_SERVICE_REPORT_DELAY_H_

#include <cstdint>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall::service {

// While the job runs, an inconclusive report is not reported, because the next diagnosis may
// decide. It is reported once the job has made no progress for `stall_after_ns`.
bool IsReportable(const Report& report, int64_t stall_after_ns);

// How long, in nanoseconds since the report was first made, it should wait for ranks that may
// decide between two sides, join the waiting ranks, or turn a mismatch into a hang. Ranks without a
// trace are expected for a while after an agent connects: after a restart of the collector, all
// agents reconnect within seconds.
int64_t ReportDelay(const Trace& trace, const Report& report, int64_t since_last_agent_ns);

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_REPORT_DELAY_H_
