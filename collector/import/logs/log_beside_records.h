// SPDX-License-Identifier: Apache-2.0
// Adds what logs state to a trace that is made of records.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_BESIDE_RECORDS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_BESIDE_RECORDS_H_

#include "collector/import/logs/log_job.h"
#include "collector/import/logs/log_ranks.h"
#include "collector/model/trace.h"

namespace rollcall::logs {

// Adds what the records of the only job in `trace` lack: how ranks ended, exceptions, and the lines
// that state them. Changes nothing that was observed. A rank that is alive has not ended. A rank
// that waits in a call of MPI, or that ended well, has handled its exceptions.
void AddToRecords(const LogJob& job, const FoundRanks& found, Trace* trace);

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_BESIDE_RECORDS_H_
