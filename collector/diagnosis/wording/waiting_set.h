// SPDX-License-Identifier: Apache-2.0
// The ranks that a hang finding rests on.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_WAITING_SET_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_WAITING_SET_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/graph/analysis.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

// Fills in Finding::waiting_set and awaited. `set`: as WaitingSet() of detectors/waiting.h.
void AddWaitingSet(const Analysis& analysis, const std::vector<uint32_t>& set, Finding* finding);

// The processes of some ranks of the finding's world. Ranks without a trace are left out.
std::vector<uint32_t> ProcessesOf(const Trace& trace, const Finding& finding,
                                  const std::vector<int32_t>& ranks);

// Whether the whole waiting set is quiet. Until then, nothing is reported as a hang.
bool StoodStill(const Trace& trace, const Finding& finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_WAITING_SET_H_
