// One function per row of kinds.def, each in a file of its own: it decides whether the kind
// explains the incident, and describes it. The functions are called in the order of the rows; the
// first match names the incident.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_RULES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_RULES_H_

#include <optional>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/order.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// `divergence` says how the two sides of the incident diverged. Pure.
#define KIND(identifier, ...)                                                                  \
  std::optional<Finding> Judge##identifier(const Analysis& analysis, const Incident& incident, \
                                           const Divergence& divergence);
#include "collector/diagnosis/verdict/kinds.def"
#undef KIND

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_RULES_H_
