// SPDX-License-Identifier: Apache-2.0
// Compares reads of two buffers, by their sums (proto/data_words.h).
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DATA_COMPARE_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DATA_COMPARE_H_

#include <cstdint>
#include <string>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/model/data.h"

namespace rollcall {

// Bytes of one basic element, and of the parts of a complex number; 1 if unknown.
uint32_t ElementBytes(TypeClass type_class);
bool IsFloatingPoint(TypeClass type_class);
// Whether some bytes of an element are padding, which may differ.
bool HasPadding(TypeClass type_class);

// Whether the same words were read of both buffers, so that equal sums mean equal data.
bool AreComparable(const DataRead& a, const DataRead& b);

// The difference of two reads that are comparable and differ. For a floating-point type, no two
// elements are more than `ulps` apart, if `has_ulps`.
DataDifference FindDifference(const DataRead& deviating, const DataRead& agreeing);

// Whether two reads that are comparable and differ may differ only in signs, as 0.0 and -0.0 do.
bool MayDifferInSignsOnly(const DataRead& a, const DataRead& b);

// The value of an element, as "1.5" or "0x3f"; empty for types that have no such text.
std::string ValueText(TypeClass type_class, uint64_t bits);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DATA_COMPARE_H_
