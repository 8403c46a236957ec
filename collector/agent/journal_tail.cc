// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/journal_tail.h"

#include <fcntl.h>

#include <algorithm>

#include "collector/base/byte_source.h"
#include "collector/base/result.h"
#include "collector/import/journal.h"
#include "proto/run_directory.h"

namespace rollcall::agent {
namespace {

// A longer line was not written by rollcall.
constexpr size_t kMaxLine = 1 << 20;

}  // namespace

JournalTail::JournalTail(const std::string& run_directory)
    : path_(run_directory + "/" + kJournalFile) {}

std::vector<std::string> JournalTail::ReadNew() {
  std::vector<std::string> lines;
  if (!fd_) fd_.reset(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd_) return lines;
  FileSource file(fd_.get());
  char buffer[16384];
  while (const size_t got = file.Read(offset_, buffer, sizeof(buffer))) {
    offset_ += got;
    partial_.append(buffer, got);
    size_t begin = 0;
    for (size_t end; (end = partial_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (end > begin) lines.push_back(partial_.substr(begin, end - begin));
    }
    partial_.erase(0, begin);
    if (partial_.size() > kMaxLine) partial_.clear();
  }
  return lines;
}

bool SawProcesses(const std::string& run_directory) {
  const std::vector<std::string> lines = JournalTail(run_directory).ReadNew();
  return std::ranges::any_of(lines, [](const std::string& line) {
    const Result<JournalEvent> event = ParseJournalLine(line);
    return event && std::holds_alternative<journal::ProcessSeen>(*event);
  });
}

}  // namespace rollcall::agent
