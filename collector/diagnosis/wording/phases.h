// SPDX-License-Identifier: Apache-2.0
// The phases that the ranks of a finding passed to rollcall_phase().
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PHASES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PHASES_H_

#include <string_view>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

// Fills `phases` of the finding, and adds notes for the first ones.
void AddPhases(const Trace& trace, Finding* finding);

// The phase without the remarks after it.
std::string_view PhaseName(std::string_view text);

// Whether a remark says that the rank failed in an earlier phase.
bool FailedBefore(std::string_view text);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PHASES_H_
