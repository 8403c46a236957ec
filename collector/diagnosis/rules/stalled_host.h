// SPDX-License-Identifier: Apache-2.0
// rank-stalled for operations on devices: no call is open, and only the missing operation shows the
// stall.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_STALLED_HOST_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_STALLED_HOST_H_

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// The type of `incident` is kNotArrived.
Finding JudgeStalledHost(const Analysis& analysis, const Incident& incident);

// "all_to_all #45265 on EXPERT_MODEL_PARALLEL_GROUP (72)"; "send to rank 1 on …" for a message.
std::string DeviceCallText(const Analysis& analysis, const Incident& incident, const Event& event);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_STALLED_HOST_H_
