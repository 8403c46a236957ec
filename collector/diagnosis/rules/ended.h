// What the findings about ranks that ended have in common.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_ENDED_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_ENDED_H_

#include <string>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// "; ranks 0,2 wait for it in MPI_Barrier #3 on MPI_COMM_WORLD"; empty if nobody waits.
std::string WaitingText(const Analysis& analysis, const Incident& incident, const Finding& finding);

// How many ranks the launcher ended because of it.
void AddCleanUpNote(const Trace& trace, Finding* finding);

// How far the clock of the culprit's host is from those of others, where that was corrected by more
// than the order of ends is blurred anyway.
void AddClockNote(const Analysis& analysis, const Incident& incident, Finding* finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_ENDED_H_
