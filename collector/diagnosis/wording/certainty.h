// How certain an incident is, and why it is no more certain.
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

// The processes of an incident in which all have arrived whose counts per rank are not on record:
// whether the arguments match is not known then.
std::vector<uint32_t> WithoutCounts(const Analysis& analysis, const Incident& incident);

// The ranks may have come apart before the oldest calls that are on record: which of their calls
// was the first to meet another one than it should is not known then.
bool MayHaveBegunEarlier(const Analysis& analysis, const Incident& incident);

// Notes why it is not certain, so that a person can correct it.
void AddDoubts(const Analysis& analysis, const Incident& incident, Finding* finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_CERTAINTY_H_
