// SPDX-License-Identifier: Apache-2.0
// Calls of NCCL that its lines of INIT and COLL state.
//
// These lines have every call of a process, in order, and no completion. If the job stood still, an
// operation is complete that every member has called.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_CALLS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_CALLS_H_

#include "collector/import/logs/log_job.h"
#include "collector/import/logs/log_parts.h"

namespace rollcall::logs {

// "Init COMPLETE": the process is rank `group_rank` in a communicator. `writer` may be nullptr.
void AddCommunicator(Writer* writer, const LogFact& fact);
// A collective. Sends and receives are left out: their numbers are not positions.
void AddCall(LogJob* job, Writer* writer, const LogFact& fact);

// Adds the communicators whose members' calls can be aligned. `stalled`: operations timed out.
// False: there are none.
bool AddCalls(LogParts* parts, bool stalled);

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_CALLS_H_
