// The processes that wait because of an incident.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_WAITING_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_WAITING_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

// Increasing; without the deviating processes, unless it is a tie. Empty if it does not hang.
std::vector<uint32_t> WaitingFor(const Analysis& analysis, const Incident& incident);

// The processes that the hang rests on: those of WaitingFor(), and the deviating ones that wait
// themselves, in a ring or for a message that no rank sends. A rank with a mismatched call need not
// wait for the hang to be one.
std::vector<uint32_t> WaitingSet(const Analysis& analysis, const Incident& incident,
                                 std::vector<uint32_t> waiting);

bool AllQuiet(const Trace& trace, const std::vector<uint32_t>& processes);

// The whole waiting set is quiet: before that, nothing is called a hang.
bool StoodStill(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_WAITING_H_
