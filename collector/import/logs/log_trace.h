// SPDX-License-Identifier: Apache-2.0
// Makes a Trace of what the lines of logs state.
//
//   job_logs      what a job that is watched appends to its logs
//   log_file      reads and unpacks a file
//   log_scanner   finds the lines that state something, and stacks
//   log_patterns  what one line states: a LogFact, by the tables log_*.def
//   log_trace     hands each fact to the room that collects it in a LogJob:
//                 log_groups, log_calls, log_ras, log_ends
//   log_ranks     which writer is which rank, after the last line
//   log_parts     the Trace; the same rooms and log_starts add what they collected
//   log_beside_records  adds to another Trace, if rings or dumps are of the job
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_TRACE_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_TRACE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "collector/import/logs/log_fact.h"
#include "collector/import/logs/log_job.h"
#include "collector/import/logs/log_ranks.h"
#include "collector/model/trace.h"

namespace rollcall::logs {

// All files that are added are of one job.
//
//   LogTraceBuilder builder;
//   builder.BeginFile(…); builder.Add(fact) …
//   Trace trace = builder.Finish();
//
// Ends and exceptions become those of processes. A rank of which nothing is stated, while all other
// ranks of the job wait, is a process without calls, whose counts are unknown; two or more such
// ranks are missing.
//
// Not thread-safe. Throws std::bad_alloc only.
class LogTraceBuilder {
 public:
  // The facts that follow are of this file. `lines_before`: see File. AddEnds() quotes no line
  // whose number is unknown.
  void BeginFile(const std::string& path, const std::string& directory, const std::string& name,
                 std::optional<uint64_t> lines_before = 0);
  void Add(const LogFact& fact);

  // The job, if no rings or dumps are of it. Empty if nothing is known. Call one of these two, and
  // Finish() once. Add no facts afterwards.
  Trace Finish();
  // AddToRecords(), for one or several traces of the job. A trace that has no job, or several,
  // stays as it is.
  void AddEnds(Trace* trace);
  // A trace has got ends, so that Finish() may no longer be called.
  bool has_added_ends() const { return found_.has_value(); }

 private:
  // Times without a year are of the year of the last one that has a year.
  void NoteYear(int64_t time_ns);

  LogJob job_;
  std::optional<FoundRanks> found_;  // of AddEnds()
  int64_t year_ns_ = 0;              // what times without a year lack
};

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_TRACE_H_
