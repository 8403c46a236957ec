// SPDX-License-Identifier: Apache-2.0
// Notes on calls of PyTorch programs, by the frames of PyTorch's frameworks.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_TORCH_TEXT_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_TORCH_TEXT_H_

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/graph/analysis.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Adds notes, and the advice for the framework whose calls do not match. Does nothing for calls of
// other libraries.
void AddTorchNotes(const Analysis& analysis, const Incident& incident, Finding* finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_TORCH_TEXT_H_
