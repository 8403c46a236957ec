// How certain it is that a job cannot continue because of an incident, or that it went wrong: one
// table, in hang.cc. How certain the cause is: cause.h.
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

// Before weak waits are considered, which SettleCertainty() does.
Certainty HangCertainty(const HangCase& of);

// For an incident in which all members have arrived: the processes whose counts per rank are not
// recorded, so that it is unknown whether the arguments match.
std::vector<uint32_t> WithoutCounts(const Analysis& analysis, const Incident& incident);

// The deviating process may be between the two calls of its open group: its next call may close it.
bool MayStillCloseGroup(const Analysis& analysis, const Incident& incident);
// The first thread whose group calls do not balance; nullptr if there is none.
const Thread* UnbalancedThread(const Process& process);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_HANG_H_
