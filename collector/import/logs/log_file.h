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

// Whether it is text, plain or compressed (gzip, xz, zstd, bzip2), and, unless `any_text`, a line
// near its begin or its end states something: by its content, never by its name. Thread-safe for
// different sources. Throws std::bad_alloc only.
bool IsLog(ByteSource& bytes, bool any_text);

// Calls `visit` for each fact. Data before a damaged place is used; the problem has no source.
std::optional<Problem> ReadLog(ByteSource& bytes, LogPatterns* patterns,
                               const std::function<void(const LogFact&)>& visit);
// Reads a descriptor to its end, which may block. Does not own it.
std::optional<Problem> ReadLog(int fd, LogPatterns* patterns,
                               const std::function<void(const LogFact&)>& visit);

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_FILE_H_
