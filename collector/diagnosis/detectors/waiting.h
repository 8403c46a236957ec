// SPDX-License-Identifier: Apache-2.0
// The processes that wait because of an incident.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_WAITING_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_WAITING_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

// The calls for which a process waits: the call that it is inside of, or the calls that made the
// requests that it waits for.
std::vector<const Event*> AwaitedCalls(const Analysis& analysis, uint32_t process);

// Returns whether the process has been inside MPI for the time that makes a rank stalled, without
// another thread that could act.
bool IsInsideForLong(const Analysis& analysis, uint32_t process);

// Increasing. Without the deviating processes, unless the incident is a tie. Empty if the incident
// does not hang.
std::vector<uint32_t> WaitingFor(const Analysis& analysis, const Incident& incident);

// The processes that the hang rests on: `waiting`, the result of WaitingFor(), and the deviating
// processes that wait themselves, in a ring or for a message that no rank sends. For a mismatched
// call, deviating processes are not added: the hang does not depend on their waits.
std::vector<uint32_t> WaitingSet(const Analysis& analysis, const Incident& incident,
                                 std::vector<uint32_t> waiting);

bool AllQuiet(const Trace& trace, const std::vector<uint32_t>& processes);

// Whether the whole waiting set is quiet. Until then, nothing is reported as a hang.
bool StoodStill(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_WAITING_H_
