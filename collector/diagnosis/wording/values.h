// SPDX-License-Identifier: Apache-2.0
// The values that the ranks of a finding passed to rollcall_value().
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_VALUES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_VALUES_H_

#include <string>

#include "collector/diagnosis/graph/analysis.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Fills `values` of the finding. The n-th values with one name are compared, for the smallest n
// that is on record on all ranks that have passed values with this name, and that differs. Example:
//
//   rank 0   batches 10  batches 12
//   rank 1   batches 10  batches 11  batches 9       the second values differ
void AddValues(const Analysis& analysis, Finding* finding);

// "batches #2 is 11 on rank 1 and 12 on rank 0 (train.py:20; #1 is equal)"
std::string ValueText(const ComparedValue& value);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_VALUES_H_
