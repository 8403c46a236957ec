// SPDX-License-Identifier: Apache-2.0
// Answers of NCCL's RAS subsystem, as `ncclras` prints them.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_RAS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_RAS_H_

#include "collector/import/logs/log_job.h"

namespace rollcall::logs {

// A line of an answer.
void AddRas(LogJob* job, const LogFact& fact);
// A line of an answer as JSON.
void AddRasJson(LogJob* job, const LogFact& fact);
// Adds positions of ranks to `job` if the last two answers agree. Once, after all lines.
void TakeRas(LogJob* job);

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_RAS_H_
