// One function per row of kinds.def, in a file of its own: does the kind explain the incident, and
// what does it say of it? The functions are asked in the order of the rows; the first that fits
// names the incident.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_RULES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_RULES_H_

#include <optional>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/order.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// `divergence` says how the two sides of the incident came apart. Pure.
#define KIND(identifier, name, severity, fix)                                                  \
  std::optional<Finding> Judge##identifier(const Analysis& analysis, const Incident& incident, \
                                           const Divergence& divergence);
#include "collector/diagnosis/verdict/kinds.def"
#undef KIND

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_RULES_H_
