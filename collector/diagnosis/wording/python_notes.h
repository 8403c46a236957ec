// SPDX-License-Identifier: Apache-2.0
// Notes about Python in verdicts.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PYTHON_NOTES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PYTHON_NOTES_H_

#include "collector/diagnosis/graph/analysis.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// For calls of `finding` made by threads without Python frames: adds notes that show where the main
// thread was at that moment. This place is context, not the place of the call.
void AddContextNotes(const Analysis& analysis, Finding* finding);

// One note for each reason why ranks that run Python have no Python frames.
void AddPythonStateNotes(const Trace& trace, Report* report);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PYTHON_NOTES_H_
