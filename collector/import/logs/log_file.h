// SPDX-License-Identifier: Apache-2.0
// Reads logs from files, plain or compressed, and from pipes.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_FILE_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_FILE_H_

#include <cstddef>
#include <functional>
#include <optional>

#include "collector/base/byte_source.h"
#include "collector/import/logs/log_fact.h"
#include "collector/import/logs/log_patterns.h"
#include "collector/model/problem.h"

namespace rollcall::logs {

// True for text, plain or compressed (gzip, xz, zstd, bzip2). Unless `any_text`, a line near the
// begin or the end of the text must state something. The name of the file does not matter.
// Thread-safe for different sources. Throws std::bad_alloc only.
bool IsLog(ByteSource& bytes, bool any_text);

// Calls `visit` for each fact. Data before a damaged place is used; the problem has no source.
std::optional<Problem> ReadLog(ByteSource& bytes, LogPatterns* patterns,
                               const std::function<void(const LogFact&)>& visit);
// Reads a descriptor to its end, which may block. Does not own it.
std::optional<Problem> ReadLog(int fd, LogPatterns* patterns,
                               const std::function<void(const LogFact&)>& visit);

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_FILE_H_
