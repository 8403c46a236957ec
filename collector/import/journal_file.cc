// SPDX-License-Identifier: Apache-2.0
// Appends to a journal file and reads it.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "collector/base/assert.h"
#include "collector/base/result.h"
#include "collector/import/journal.h"

namespace rollcall {
namespace {

// Every line begins with this. Text before it on the same line is the rest of a truncated line.
constexpr std::string_view kLineBegin = "{\"v\":";
constexpr size_t kMaxLineBytes = 1 << 20;
constexpr int kMaxProblems = 3;

class JournalReader {
 public:
  JournalReader(std::string source, Journal* journal)
      : source_(std::move(source)), journal_(*journal) {}

  void Line(std::string_view line, uint64_t offset) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    Result<JournalEvent> event = ParseJournalLine(line);
    if (!event.error().empty()) {
      if (line.size() > kMaxLineBytes) {
        AddProblem(ProblemCode::kOverLimit, offset, "a line is too long");
      } else {
        AddProblem(ProblemCode::kDamaged, offset, event.error());
      }
      const size_t again = line.rfind(kLineBegin);
      if (again == std::string_view::npos || again == 0) return;
      event = ParseJournalLine(line.substr(again));
      if (!event.error().empty()) return;
    }
    if (event) {
      journal_.events.push_back(std::move(*event));
    } else {
      ++journal_.unknown;
    }
  }

  // Handles text after the last line break. It is used only if it is a complete event: a writer
  // writes a line and its line break with one write().
  void Rest(std::string_view line, uint64_t offset) {
    if (ParseJournalLine(line)) Line(line, offset);
  }

  void AddProblem(ProblemCode code, uint64_t offset, std::string message) {
    if (++problems_ > kMaxProblems) return;
    journal_.problems.push_back({code, std::move(message), source_, static_cast<int64_t>(offset)});
  }

 private:
  std::string source_;
  Journal& journal_;
  int problems_ = 0;
};

}  // namespace

Result<JournalWriter> JournalWriter::Open(const std::string& path) {
  UniqueFd fd(open(path.c_str(),
                   O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd) return Error{fmt::format("{}: {}", path, std::strerror(errno))};
  return JournalWriter(std::move(fd));
}

bool JournalWriter::Append(const JournalEvent& event) {
  return AppendLines(FormatJournalLine(event));
}

bool JournalWriter::AppendLines(std::string_view lines) {
  ROLLCALL_ASSERT(fd_);  // it was not moved from
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    ssize_t wrote;
    do {
      wrote = write(fd_.get(), lines.data(), end);
    } while (wrote < 0 && errno == EINTR);
    // A short write (disk full) is not completed: another process's line may already follow it, and
    // the reader handles a truncated line better than two mixed ones.
    if (wrote != static_cast<ssize_t>(end)) return false;
    lines.remove_prefix(end);
  }
  return true;
}

Journal ReadJournal(ByteSource& bytes, const std::string& source) {
  Journal journal;
  JournalReader reader(source, &journal);
  constexpr size_t kChunk = 1 << 14;  // a collector reads many short ones
  std::string pending;                // the line so far
  uint64_t pending_begin = 0;
  bool skipping = false;  // in a line that is too long
  std::string chunk;
  for (uint64_t offset = 0;;) {
    if (offset >= kMaxJournalBytes) {
      reader.AddProblem(ProblemCode::kOverLimit, offset,
                        "the journal is too large: the rest is not read");
      break;
    }
    chunk.resize(kChunk);
    chunk.resize(bytes.Read(offset, chunk.data(), kChunk));
    if (chunk.empty()) break;
    size_t begin = 0;
    for (size_t end; (end = chunk.find('\n', begin)) != std::string::npos; begin = end + 1) {
      pending.append(chunk, begin, end - begin);
      if (!skipping) reader.Line(pending, pending_begin);
      pending.clear();
      skipping = false;
      pending_begin = offset + end + 1;
    }
    pending.append(chunk, begin);
    if (pending.size() > kMaxLineBytes) {
      if (!skipping)
        reader.AddProblem(ProblemCode::kOverLimit, pending_begin, "a line is too long");
      skipping = true;
      pending.clear();
    }
    offset += chunk.size();
  }
  if (!skipping && !pending.empty()) reader.Rest(pending, pending_begin);
  return journal;
}

}  // namespace rollcall
