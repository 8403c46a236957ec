// One function per verdict kind: does it explain the incident, and what does it say of it?
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_RULES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_RULES_H_

#include <optional>

#include "collector/diagnosis/finding.h"
#include "collector/diagnosis/incident.h"
#include "collector/diagnosis/order.h"

namespace rollcall {

// `parted` says how the two sides of the incident came apart. Pure.
#define RULE(kind)                                                                       \
  std::optional<Finding> Judge##kind(const Analysis& analysis, const Incident& incident, \
                                     const Parted& parted);
#include "collector/diagnosis/rules/rules.def"
#undef RULE

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_RULES_H_
