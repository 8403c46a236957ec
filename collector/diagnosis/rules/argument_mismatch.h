// SPDX-License-Identifier: Apache-2.0
// Shared by the four kinds of mismatched arguments.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_ARGUMENT_MISMATCH_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_ARGUMENT_MISMATCH_H_

#include <optional>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// The finding if the incident is a mismatch of `wanted`; empty otherwise.
std::optional<Finding> JudgeArguments(const Analysis& analysis, const Incident& incident,
                                      MismatchKind wanted, VerdictKind kind);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_ARGUMENT_MISMATCH_H_
