// SPDX-License-Identifier: Apache-2.0
// The texts and places of findings about data.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DATA_TEXT_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DATA_TEXT_H_

#include <string>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Draft(), with the places where the data was read instead of those of the calls: the records of
// the calls may be lost, or the calls may be starts of requests.
Finding DraftOfData(const Analysis& analysis, const Incident& incident, VerdictKind kind);

// "the first difference is in element 5: 1.5, not 2.5 (bits 0x8000000000000; 2251799813685248
// ulps)", "by the sums, one word differs, in element 500 (bits 0x1000)"
std::string DifferenceText(const Incident& incident);

// Sets Report::data, and adds a note that names the ranks whose data was not read, and the reasons.
void AddDataCoverage(const Trace& trace, Report* report);

// "nan", "-inf": the element that the first of the deviating processes passed.
std::string NonFiniteText(const Trace& trace, const FirstNonFinite& first);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DATA_TEXT_H_
