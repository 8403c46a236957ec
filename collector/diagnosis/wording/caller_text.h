// Says who runs a call that some ranks make alone, and what to do about it.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_CALLER_TEXT_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_CALLER_TEXT_H_

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Replaces the advice of a finding about a collective if calling it on every rank would be wrong,
// and adds a note.
void AddCaller(const Analysis& analysis, const Incident& incident, Finding* finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_CALLER_TEXT_H_
