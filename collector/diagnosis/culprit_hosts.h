// On how many hosts a job runs, and where the culprits of a finding do.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_CULPRIT_HOSTS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_CULPRIT_HOSTS_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

// Of those that processes name.
uint32_t CountHosts(const Trace& trace);

// By host and device, in the order of their ranks. Pure.
std::vector<HostRanks> HostsOf(const Trace& trace, const Finding& finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_CULPRIT_HOSTS_H_
