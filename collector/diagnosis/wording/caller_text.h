// SPDX-License-Identifier: Apache-2.0
// The text about the caller of a call that only some ranks make, such as a destructor, and the
// advice.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_CALLER_TEXT_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_CALLER_TEXT_H_

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Adds a note about the caller. Replaces the advice of a finding about a collective if it would be
// wrong to call the collective on every rank.
void AddCaller(const Analysis& analysis, const Incident& incident, Finding* finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_CALLER_TEXT_H_
