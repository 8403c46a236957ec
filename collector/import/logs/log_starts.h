// SPDX-License-Identifier: Apache-2.0
// Ranks that wait until all ranks have come: to the store, or to the making of a communicator.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_STARTS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_STARTS_H_

#include "collector/import/logs/log_parts.h"

namespace rollcall::logs {

void AddStarts(LogParts* parts);

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_STARTS_H_
