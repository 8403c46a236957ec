// SPDX-License-Identifier: Apache-2.0
// Finds in text what the patterns of log_patterns.def describe, and who wrote it.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_PATTERNS_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_PATTERNS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collector/import/logs/log_fact.h"
#include "collector/import/logs/log_keys.h"

namespace rollcall::logs {

// Compiles the tables, which takes some milliseconds: use one object for all files of a thread. Not
// thread-safe. Throws std::bad_alloc only.
class LogPatterns {
 public:
  LogPatterns();
  ~LogPatterns();

  // The first key at or after `from`.
  std::optional<KeyFound> FindKey(std::string_view text, size_t from) const;
  // Fills `fact` with what stands in `line` at the key, and with what the text before it says of
  // its writer. Returns where the match ends; empty if the pattern of this key does not match.
  std::optional<size_t> Match(std::string_view line, const KeyFound& key, LogFact* fact);
  // Whether `text` is a frame of a stack, which is then in `fact`.
  bool MatchFrame(std::string_view text, LogFact* fact) const;
  // Fills `fact` with what the prefixes of `line` say. Returns where they end.
  size_t ReadPrefixes(std::string_view line, LogFact* fact);

 private:
  struct Tables;
  struct Prefix;
  const Prefix& PrefixOf(std::string_view before);

  const std::unique_ptr<Tables> tables_;
  // Lines of one writer begin with the same text, unless they have times.
  std::unordered_map<std::string, std::unique_ptr<Prefix>> known_;
};

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_PATTERNS_H_
