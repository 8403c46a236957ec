// What a program of PyTorch does in a call, by the frames of its frameworks.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_TORCH_TEXT_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_TORCH_TEXT_H_

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/graph/analysis.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Adds notes, and the advice of the framework whose calls do not match. Does nothing for calls of
// other libraries.
void AddTorchNotes(const Analysis& analysis, const Incident& incident, Finding* finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_TORCH_TEXT_H_
