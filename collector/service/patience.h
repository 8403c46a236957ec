// When a report is worth telling, and when it should wait for ranks that would complete it.
#ifndef ROLLCALL_COLLECTOR_SERVICE_PATIENCE_H_
#define ROLLCALL_COLLECTOR_SERVICE_PATIENCE_H_

#include <cstdint>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall::service {

// While the job runs, "cannot tell" is no news, as the next look may be able to; until it stood
// still for so long that a person wants to know even that.
bool IsReportable(const Report& report, int64_t stall_after_ns);

// How long, in nanoseconds since the report was first made, it should wait for ranks on their way:
// they may decide between two sides, wait with those that it names, or turn a mismatch into a hang.
// Ranks without a trace are on their way for a while after an agent connected: all agents of a
// collector that was started again do so within seconds.
int64_t Patience(const Trace& trace, const Report& report, int64_t since_last_agent_ns);

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_PATIENCE_H_
