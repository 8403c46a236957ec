// SPDX-License-Identifier: Apache-2.0
// Finds ranks that poll for a message and sleep in between. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_POLLS_H_
#define ROLLCALL_COLLECTOR_ATTACH_POLLS_H_

#include "collector/model/trace.h"

namespace rollcall::attach {

// Treats a rank as waiting in a poll if it is in a timed sleep, in a loop whose only other calls
// are MPI_Iprobe and similar ones: the rank leaves that loop only when a message arrives. Requires
// the loop's source in the trace and all calls of the function (Place::nearby).
void FindPolls(Trace* trace);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_POLLS_H_
