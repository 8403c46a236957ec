// The number of hosts of a job, and the hosts of a finding's culprits.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_CULPRIT_HOSTS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_CULPRIT_HOSTS_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

// Counts the hosts that processes name.
uint32_t CountHosts(const Trace& trace);

// Grouped by host and device, in the order of ranks. Pure.
std::vector<HostRanks> HostsOf(const Trace& trace, const Finding& finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_CULPRIT_HOSTS_H_
