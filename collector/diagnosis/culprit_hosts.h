// Where the culprits of a finding run.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_CULPRIT_HOSTS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_CULPRIT_HOSTS_H_

#include <vector>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

// By host and device, in the order of their ranks. Pure.
std::vector<HostRanks> HostsOf(const Trace& trace, const Finding& finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_CULPRIT_HOSTS_H_
