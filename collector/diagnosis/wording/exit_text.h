// SPDX-License-Identifier: Apache-2.0
// How ranks left a function or a loop, in words.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_EXIT_TEXT_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_EXIT_TEXT_H_

#include <string>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/matching/call_site.h"

namespace rollcall {

// "left residual() by the exception of solver.cc:25 (if rank == 1), caught at line 61".
std::string ExitText(const PathExit& exit);

// Adds a note that says how the ranks may have left, if the source shows that. `left` names the
// ranks, as "ranks 1,2".
void AddExitNote(const Incident& incident, const std::string& left, Finding* finding);

// The advice for ranks that left that way.
std::string ExitFix(const PathExit& exit, const std::string& operation);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_EXIT_TEXT_H_
