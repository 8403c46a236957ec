// What a verdict says about Python beside its lines.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PYTHON_NOTES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PYTHON_NOTES_H_

#include "collector/diagnosis/graph/analysis.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Notes on calls of `finding` that were made by threads without Python frames: where the main
// thread was at that moment, which is context and not the call.
void AddContextNotes(const Analysis& analysis, Finding* finding);

// One note per reason for which ranks have no Python frames, though they run Python.
void AddPythonStateNotes(const Trace& trace, Report* report);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_PYTHON_NOTES_H_
