// The certainty of an incident, and why it is not higher.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_CERTAINTY_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_CERTAINTY_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// `waiting`: the processes that wait because of it.
Certainty CertaintyOf(const Analysis& analysis, const Incident& incident,
                      const std::vector<uint32_t>& waiting);

// For an incident in which all members have arrived: the processes whose counts per rank are not
// recorded, so that it is unknown whether the arguments match.
std::vector<uint32_t> WithoutCounts(const Analysis& analysis, const Incident& incident);

// The ranks may have diverged before the oldest recorded calls: which of their calls was the first
// mismatch is then unknown.
bool MayHaveBegunEarlier(const Analysis& analysis, const Incident& incident);

// Notes why the finding is not proven, so that the reader can correct it.
void AddDoubts(const Analysis& analysis, const Incident& incident, Finding* finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_CERTAINTY_H_
