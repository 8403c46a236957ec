// SPDX-License-Identifier: Apache-2.0
// The kinds of incidents in jobs whose calls are not recorded.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_STACKS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_STACKS_H_

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Names and describes an incident of FindPlaceIncidents(). Pure.
Finding JudgeStacks(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_STACKS_H_
