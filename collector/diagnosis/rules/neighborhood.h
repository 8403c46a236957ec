// SPDX-License-Identifier: Apache-2.0
// p2p-unmatched for neighborhood collectives: an edge that only one of its ends lists.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_NEIGHBORHOOD_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_NEIGHBORHOOD_H_

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// `incident` is a kNeighborhood.
Finding JudgeNeighborhood(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_NEIGHBORHOOD_H_
