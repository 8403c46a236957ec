// SPDX-License-Identifier: Apache-2.0
// Reads the text of a log in one pass and finds what its lines state.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_SCANNER_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "collector/import/logs/log_fact.h"
#include "collector/import/logs/log_patterns.h"

namespace rollcall::logs {

// A longer line is cut there.
inline constexpr size_t kMaxLineBytes = 1 << 16;
// The beginning and the end of a log are read line by line, so that ranks are known that say
// nothing of interest, and when they last said something. Between them, lines without a key of
// log_patterns.def are skipped.
inline constexpr size_t kHeadBytes = 1 << 20;
inline constexpr size_t kTailBytes = 1 << 20;

// Keeps no more than kTailBytes and some stacks, however long the log is. Control sequences of
// terminals are removed; what a carriage return separates counts as lines of their own with one
// number. Not thread-safe. Throws std::bad_alloc only.
class LogScanner {
 public:
  // `patterns` must outlive this object. `visit` is called for each fact, in the order of the log.
  LogScanner(LogPatterns* patterns, std::function<void(const LogFact&)> visit)
      : patterns_(*patterns), visit_(std::move(visit)) {}

  void Feed(std::string_view bytes);
  // After the last bytes.
  void Finish();

 private:
  // A stack whose frames have not all been read.
  struct OpenStack {
    LogFact fact;
    int lines = 0;       // read since it began
    bool done = false;   // the exception was found; what follows may replace it
    uint64_t until = 0;  // no line after this one belongs to it
  };

  void FeedLines(std::string_view lines);
  // Reads from `at`, the begin of a line, to its end. Returns where the next one begins.
  size_t ReadLine(std::string_view lines, size_t at, bool any_writer);
  void ReadPiece(std::string_view piece, bool any_writer);
  void ReadBroken(std::string_view piece);
  void CloseOldStacks();
  bool ContinueStack(std::string_view piece);
  void NotePresence(std::string_view piece);
  void Emit(LogFact* fact, std::string_view piece);

  LogPatterns& patterns_;
  std::function<void(const LogFact&)> visit_;
  std::string partial_;     // the begin of a line whose end has not been read
  bool cut_ = false;        // `partial_` is longer than kMaxLineBytes, and its rest is skipped
  uint64_t line_ = 0;       // number of the line that is read
  uint64_t read_ = 0;       // bytes
  std::string tail_;        // the last lines that were searched for keys only
  uint64_t tail_line_ = 0;  // number of the line before them
  std::deque<OpenStack> stacks_;
  bool ignore_next_ = false;    // the next traceback ends nothing
  bool framed_ = false;         // the line before this one consists of dashes
  bool broken_framed_ = false;  // the same of `broken_`
  std::string broken_;  // the last line, if it has a key and what follows may stand in the next one
};

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_SCANNER_H_
