// SPDX-License-Identifier: Apache-2.0
// Shared by the findings about ranks that ended.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_ENDED_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_ENDED_H_

#include <string>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// "; ranks 0,2 wait for it in MPI_Barrier #3 on MPI_COMM_WORLD"; empty if no rank waits.
std::string WaitingText(const Analysis& analysis, const Incident& incident, const Finding& finding);

// Adds a note with the number of ranks that the launcher ended because of this end.
void AddCleanUpNote(const Trace& trace, Finding* finding);

// Adds a note with the largest clock offset between the culprit's host and another host, if the
// offset exceeds the uncertainty of the order of ends.
void AddClockNote(const Analysis& analysis, const Incident& incident, Finding* finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_ENDED_H_
