// SPDX-License-Identifier: Apache-2.0
// Ends of ranks and exceptions that lines of logs state.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_ENDS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_ENDS_H_

#include "collector/import/logs/log_job.h"

namespace rollcall::logs {

// The rank ended, or a launcher stopped it. `writer` may be nullptr here and below.
void AddEnd(LogJob* job, Writer* writer, const LogFact& fact);
// The kernel killed a process because memory ran out.
void AddOutOfMemory(LogJob* job, const LogFact& fact);
void AddException(LogJob* job, Writer* writer, const LogFact& fact);
// A line of a report that has the rank in one line and its end in another.
void AddWorker(LogJob* job, const LogFact& fact);
// MPI_Abort, or an error of MPI that ends its rank. Open MPI reports an error in several lines.
void AddMpiEnd(LogJob* job, const LogFact& fact);
// True if a plain line shows a second run of the job, after a user or the batch system ended the
// first one. A batch system may append the output of the second run to that of the first.
bool RunsAgain(LogJob* job, const LogFact& fact);
// A line of the writer that states no end. Many of them after an exception show that the rank
// handled the exception.
void NoteLineAfterException(const LogJob& job, Writer* writer, const LogFact& fact);
// A line that states nothing. Such lines after an end may show that the rank has not ended.
void AddPlainLine(LogJob* job, Writer* writer, const LogFact& fact);

// Removes ends and exceptions that follow from a wait, from the end of the job, or from the end of
// another rank, and those of ranks that continued. Adds the ends of ranks on nodes that failed.
void DropConsequences(LogJob* job, Ranks* ranks);

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_ENDS_H_
