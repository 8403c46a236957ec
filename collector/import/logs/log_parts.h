// SPDX-License-Identifier: Apache-2.0
// The parts of the Trace that is made of a log.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_PARTS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collector/import/logs/log_job.h"
#include "collector/model/trace.h"

namespace rollcall::logs {

// kNoIndex if there are no frames.
uint32_t PathOf(const std::vector<LogFrame>& frames, Interner* interner);

// Not thread-safe. Throws std::bad_alloc only.
class LogParts {
 public:
  // Adds the world, whose size must be known, and its ranks. Both arguments must outlive this
  // object.
  LogParts(LogJob* job, Ranks* ranks, int64_t size);

  // Indices of the trace. `writer` is nullptr if the log has no line of the rank.
  uint32_t AddProcess(int32_t rank, Writer* writer);
  uint32_t AddCommunicator(const std::string& name, std::vector<int32_t> ranks);
  Member& AddMember(uint32_t process, uint32_t communicator, int32_t rank);
  // `event` has not ended.
  void AddOpen(uint32_t process, const Event& event);
  void AddQuote(uint32_t process, Quote quote) { quotes_.emplace_back(process, std::move(quote)); }
  // `statement` concerns this process. It is inserted before all others.
  void AddStatement(uint32_t process, std::string statement);
  // Once, after all others.
  void AddLines();

  const LogJob& job() const { return job_; }
  Trace& trace() { return trace_; }
  Interner& interner() { return job_.interner; }
  int32_t RankOf(uint32_t process) const { return trace_.processes[process].rank; }
  // By rank of the world; kNoIndex: nothing is known of it.
  const std::vector<uint32_t>& processes() const { return trace_.worlds[0].processes; }
  // By process; nullptr as above.
  const std::vector<Writer*>& writers() const { return writers_; }

 private:
  LogJob& job_;
  Trace& trace_;
  std::vector<Writer*> writers_;
  std::map<std::string, uint32_t> by_name_;  // communicators
  std::vector<std::pair<uint32_t, Quote>> quotes_;
  uint64_t requests_ = 0;
};

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_PARTS_H_
