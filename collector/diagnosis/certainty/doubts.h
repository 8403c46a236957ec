// SPDX-License-Identifier: Apache-2.0
// Why a finding is not proven, in words.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_DOUBTS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_DOUBTS_H_

#include "collector/diagnosis/certainty/weak_wait.h"
#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Adds notes about gaps in the records, so that the reader can close them.
void AddDoubts(const Analysis& analysis, const Incident& incident, Finding* finding);
// Adds notes about the ranks that may continue by themselves.
void AddDoubts(const Analysis& analysis, const WeakWait& wait, Finding* finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_DOUBTS_H_
