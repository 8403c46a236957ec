// Ranks that sleep between looks for a message. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_POLLS_H_
#define ROLLCALL_COLLECTOR_ATTACH_POLLS_H_

#include "collector/attach/standing.h"

namespace rollcall::attach {

// A rank that sleeps for a time in a loop whose only other calls are MPI_Iprobe and its like leaves
// that loop by a message alone: it is taken for one that waits in that call. Needs the loop's
// source in the trace, and all calls of the function (RankStanding::nearby).
void FindPolls(Standings* standings);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_POLLS_H_
