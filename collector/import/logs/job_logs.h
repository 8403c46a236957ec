// SPDX-License-Identifier: Apache-2.0
// The logs that a job writes while it is watched.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_JOB_LOGS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_JOB_LOGS_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/base/file.h"
#include "collector/import/logs/log_trace.h"
#include "collector/model/trace.h"

namespace rollcall::logs {

// Reads what is appended to the files after the construction. A file that is created, replaced or
// truncated later counts as a whole. Opens regular files only, and none for writing. Not
// thread-safe.
class JobLogs {
 public:
  // `paths` are files, which need not exist yet, and directories. Looks at each file, for two
  // seconds at most in each directory: construct it before the job starts. Of all files together,
  // the newest `max_bytes` are read.
  explicit JobLogs(std::vector<std::string> paths, uint64_t max_bytes = uint64_t{1} << 30);

  // LogTraceBuilder::AddEnds() of the files. Reads them if they have changed since the last call.
  // While the job runs, reading takes a twentieth of the time at most.
  void AddEnds(Trace* trace, bool job_ended);

  // The job as its logs alone show it. Call it once, when the job has ended and no rank was
  // recorded. Reads the files. Empty: there are no paths.
  std::optional<Trace> TraceOfLogs();

  // A line for each path that the last reading could not use. Lists the paths if nothing was read.
  // Call it when the job has ended.
  std::vector<std::string> Problems();

 private:
  // What a file had at the start.
  struct Start {
    FileStamp stamp;
    uint64_t end_hash = 0;
  };
  // The bytes of a file that count.
  struct Part {
    FileStamp stamp;
    uint64_t begin = 0;

    bool operator==(const Part& other) const = default;
  };
  using Parts = std::map<std::string, Part>;  // by path

  Parts FindParts();
  void Refresh();

  const std::vector<std::string> paths_;
  const uint64_t max_bytes_;
  std::map<std::string, Start> at_start_;  // by path
  std::set<std::string> unlisted_;         // directories with files that are not in `at_start_`
  Parts parts_;                            // that `facts_` has
  // Why paths could not be used, when `parts_` were found. Empty before the first search.
  std::optional<std::vector<std::string>> problems_;
  std::optional<LogTraceBuilder> facts_;
  std::chrono::steady_clock::time_point next_read_;
  bool cut_ = false;  // the files have more bytes than are read
};

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_JOB_LOGS_H_
