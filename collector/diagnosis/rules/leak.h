// SPDX-License-Identifier: Apache-2.0
// Shared by request-leak, communicator-leak and handle-leak.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_LEAK_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_LEAK_H_

#include <string>
#include <string_view>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// "18 communicators made by MPI_Comm_dup at x.c:12 are never freed", with the ranks unless all
// ranks have the leak. `thing` is the noun in the singular ("communicator"), `made` says what
// happened at the line ("made by"), `done` says what never happened ("freed").
std::string LeakTitle(const Analysis& analysis, const Incident& incident, const Finding& finding,
                      std::string_view thing, std::string_view made, std::string_view done);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_LEAK_H_
