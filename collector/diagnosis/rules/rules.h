// SPDX-License-Identifier: Apache-2.0
// One function per row of kinds.def, each in its own file. The function decides whether the kind
// explains the incident, and describes the incident. The functions are called in the order of the
// rows; the first match names the incident.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_RULES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_RULES_H_

#include <optional>

#include "collector/diagnosis/detectors/divergence.h"
#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// `divergence`: FindDivergence() of the incident. Pure.
#define KIND(identifier, ...)                                                                  \
  std::optional<Finding> Judge##identifier(const Analysis& analysis, const Incident& incident, \
                                           const Divergence& divergence);
#include "collector/diagnosis/verdict/kinds.def"
#undef KIND

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_RULES_H_
