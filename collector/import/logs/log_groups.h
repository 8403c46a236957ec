// SPDX-License-Identifier: Apache-2.0
// Waits and counts in process groups of PyTorch.
//
// "Waits in #n, has enqueued m and completed k" becomes a member with these counts and an open
// operation.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_GROUPS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_GROUPS_H_

#include "collector/import/logs/log_job.h"
#include "collector/import/logs/log_parts.h"

namespace rollcall::logs {

// The rank waits, or has enqueued and completed so many operations. `writer` may be nullptr.
void AddWait(LogJob* job, Writer* writer, const LogFact& fact);
// A rank waits in monitored_barrier for others.
void AddLacking(LogJob* job, const LogFact& fact);

// Adds the groups in which ranks wait, or a statement where the lines do not decide.
void AddGroups(LogParts* parts);

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_GROUPS_H_
