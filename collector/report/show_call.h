// SPDX-License-Identifier: Apache-2.0
// Formats one call for the tables of `rollcall show`.
#ifndef ROLLCALL_COLLECTOR_REPORT_SHOW_CALL_H_
#define ROLLCALL_COLLECTOR_REPORT_SHOW_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/diagnosis/graph/aligned_trace.h"

namespace rollcall {

// "MPI_Allreduce  (1 × MPI_DOUBLE, MPI_SUM)"; `numbered`: with its sequence number and
// communicator.
std::string ShownCall(const AlignedTrace& analysis, const Event& event, bool numbered);

// The place ("solver.c:88") and the function of the call site.
std::string ShownPlace(const AlignedTrace& analysis, const Event& event);
std::string ShownFunction(const AlignedTrace& analysis, const Event& event);

// True if the process has not returned from this call, or its device has not completed it.
bool IsInside(const Process& process, const Event& event);

// The processes with that rank, one for each world that has it.
std::vector<uint32_t> ProcessesOf(const Trace& trace, int32_t rank);

// All calls of a process, including MPI_Init and similar ones, in the order of their start.
std::vector<const Event*> CallsOf(const AlignedTrace& analysis, uint32_t process);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_SHOW_CALL_H_
