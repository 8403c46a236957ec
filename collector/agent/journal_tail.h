// SPDX-License-Identifier: Apache-2.0
// Follows the run directory's journal, which the agent and every `rollcall exec` append to.
#ifndef ROLLCALL_COLLECTOR_AGENT_JOURNAL_TAIL_H_
#define ROLLCALL_COLLECTOR_AGENT_JOURNAL_TAIL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/base/file.h"

namespace rollcall::agent {

// Not thread-safe.
class JournalTail {
 public:
  explicit JournalTail(const std::string& run_directory);

  // Returns the complete lines, without line breaks, that were appended since the last call; all
  // lines after Rewind().
  std::vector<std::string> ReadNew();
  void Rewind() {
    offset_ = 0;
    partial_.clear();
  }

 private:
  const std::string path_;
  UniqueFd fd_;
  uint64_t offset_ = 0;
  std::string partial_;
};

// True if an agent has written to the journal of the run directory that it saw a process.
bool SawProcesses(const std::string& run_directory);

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_JOURNAL_TAIL_H_
