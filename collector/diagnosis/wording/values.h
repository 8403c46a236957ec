// SPDX-License-Identifier: Apache-2.0
// The values that differ between the ranks of a finding: those that they passed to
// rollcall_value(), and variables of their frames.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_VALUES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_VALUES_H_

#include <string>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/matching/call_site.h"
#include "collector/model/trace.h"

namespace rollcall {

// Fills `values` and `unshown` of the finding. The n-th values with one name are compared, for the
// smallest n that is on record on all ranks that have passed values with this name, and that
// differs. Example:
//
//   rank 0   batches 10  batches 12
//   rank 1   batches 10  batches 11  batches 9       the second values differ
//
// Variables of frames are compared in the functions that the ranks reached by the same path.
void AddValues(const Trace& trace, const CallSites& sites, Finding* finding);

// "batches #2 is 11 on rank 1 and 12 on rank 0 (train.py:20; #1 is equal)",
// "skip is True on rank 0 and False on rank 1 (in exchange())"
std::string ValueText(const ComparedValue& value);

// The texts of the values, then that of `unshown`: "skip is False on rank 1
// and gone with its frame on rank 0 (in exchange()); put rollcall.value("skip", skip) before the
// branch"
std::vector<std::string> ValueTexts(const Finding& finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_VALUES_H_
