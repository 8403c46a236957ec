// One call as the tables of `rollcall show` have it.
#ifndef ROLLCALL_COLLECTOR_REPORT_SHOW_CALL_H_
#define ROLLCALL_COLLECTOR_REPORT_SHOW_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/diagnosis/graph/aligned_trace.h"

namespace rollcall {

// "MPI_Allreduce  (1 × MPI_DOUBLE, MPI_SUM)"; `numbered`: with its number and communicator.
std::string ShownCall(const AlignedTrace& analysis, const Event& event, bool numbered);

// "solver.c:88", and the function: of the user's own frame.
std::string ShownPlace(const AlignedTrace& analysis, const Event& event);
std::string ShownFunction(const AlignedTrace& analysis, const Event& event);

// Has the process not come out of this call, or its device not completed it?
bool IsInside(const Process& process, const Event& event);

// The processes of that rank, by world.
std::vector<uint32_t> ProcessesOf(const Trace& trace, int32_t rank);

// All calls of a process, MPI_Init and the like among them, in the order in which they began.
std::vector<const Event*> CallsOf(const AlignedTrace& analysis, uint32_t process);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_SHOW_CALL_H_
