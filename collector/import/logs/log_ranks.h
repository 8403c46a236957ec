// SPDX-License-Identifier: Apache-2.0
// Finds which rank of the job each writer is.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_RANKS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_RANKS_H_

#include <optional>

#include "collector/import/logs/log_job.h"

namespace rollcall::logs {

struct FoundRanks {
  Ranks ranks;
  std::optional<Writer> unknown;  // the only writer without a rank that has an exception
};

// A writer's rank is stated by a prefix or a statement. Otherwise it is, in this order:
// - the number in the name of its file, if the name has "rank", or several files count from 0;
// - its rank in the largest communicator of NCCL, by "Init COMPLETE" lines;
// - the rank of its process, if another line states it;
// - its local rank, if the job ran on one node;
// - its device, if no writer with calls of NCCL has a rank.
// Writers that are one rank are merged, and moved from `job`. Writers without a rank are left out.
FoundRanks FindRanks(LogJob* job);
// Gives the exception of `unknown` to the rank that is said to have failed first, if there is one.
void AssignUnknown(FoundRanks* found);

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_RANKS_H_
