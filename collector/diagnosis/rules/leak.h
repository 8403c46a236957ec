// Shared by request-leak, communicator-leak and handle-leak.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_LEAK_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_LEAK_H_

#include <string>
#include <string_view>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// "18 communicators made by MPI_Comm_dup at x.c:12 are never freed", with the ranks unless they are
// all. `thing` is the noun in the singular, `made` what happened at the line, `done` what never
// happened.
std::string LeakTitle(const Analysis& analysis, const Incident& incident, const Finding& finding,
                      std::string_view thing, std::string_view made, std::string_view done);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_RULES_LEAK_H_
