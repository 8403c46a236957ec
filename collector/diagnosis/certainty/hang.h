// SPDX-License-Identifier: Apache-2.0
// The certainty that a job cannot continue because of an incident, or that it went wrong: one
// table, in hang.cc. For the certainty of the cause, see cause.h.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_HANG_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_HANG_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

struct HangCase {
  const Analysis& analysis;
  const Incident& incident;
  VerdictKind kind;
  const std::vector<uint32_t>& waiting;  // WaitingFor()
};

// The certainty before weak waits are considered; SettleCertainty() considers them.
Certainty HangCertainty(const HangCase& of);

// For an incident in which all members have arrived: the processes whose counts per rank are not
// recorded. Their arguments may not match.
std::vector<uint32_t> WithoutCounts(const Analysis& analysis, const Incident& incident);

// Whether the deviating process may be between the two calls of its open group, so that its next
// call may close the group.
bool MayStillCloseGroup(const Analysis& analysis, const Incident& incident);
// The first thread whose group calls do not balance; nullptr if there is none.
const Thread* UnbalancedThread(const Process& process);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_HANG_H_
