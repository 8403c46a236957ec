// Shared by the findings about ranks that ended.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_ENDED_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_ENDED_H_

#include <string>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// "; ranks 0,2 wait for it in MPI_Barrier #3 on MPI_COMM_WORLD"; empty if no rank waits.
std::string WaitingText(const Analysis& analysis, const Incident& incident, const Finding& finding);

// Notes how many ranks the launcher ended because of it.
void AddCleanUpNote(const Trace& trace, Finding* finding);

// Notes the clock offset between the culprit's host and other hosts, if it exceeds the uncertainty
// of the order of ends.
void AddClockNote(const Analysis& analysis, const Incident& incident, Finding* finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_ENDED_H_
