// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_patterns.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <deque>
#include <utility>
#include <vector>

#include "collector/base/text.h"

namespace rollcall::logs {
namespace {

constexpr size_t kMaxRanksListed = 1 << 14;
constexpr size_t kMaxPrefixes = 8;
constexpr size_t kMaxKnownPrefixes = 1 << 12;
// What stands farther before a statement is not looked at.
constexpr size_t kMaxBefore = 2000;

// Larger ones are damage. Sums and differences of these do not overflow.
constexpr int64_t kMaxNumber = int64_t{1} << 53;

int64_t Number(std::string_view text, int base = 10) {
  const int64_t number = ParseNumber<int64_t>(text, base).value_or(-1);
  return number <= kMaxNumber ? number : -1;
}

int32_t Small(std::string_view text, int32_t otherwise = -1) {
  return ParseNumber<int32_t>(text).value_or(otherwise);
}

// "10, 20"
int64_t Product(std::string_view text) {
  int64_t product = 1;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const int64_t factor = Number(text.substr(0, comma));
    if (factor < 0 || __builtin_mul_overflow(product, factor, &product)) return -1;
    text.remove_prefix(std::min(text.find_first_not_of(", ", comma), text.size()));
  }
  return product;
}

// "0-3,5"
std::vector<int32_t> RankList(std::string_view text) {
  std::vector<int32_t> ranks;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    const size_t dash = part.find('-');
    const int32_t first = Small(part.substr(0, dash));
    const int32_t last = dash == std::string_view::npos ? first : Small(part.substr(dash + 1));
    for (int64_t rank = first; rank >= 0 && rank <= last && ranks.size() < kMaxRanksListed;) {
      ranks.push_back(static_cast<int32_t>(rank++));
    }
    text.remove_prefix(std::min(text.find_first_not_of(", ", part.size()), text.size()));
  }
  return ranks;
}

// "0(default_pg)" and "0 (default_pg)" are "default_pg"; other groups are told apart by the name
// before the description.
std::string GroupName(std::string_view text) {
  if (text.find("default_pg") != std::string_view::npos) return "default_pg";
  const size_t open = text.find('(');
  std::string_view name = text.substr(0, open);
  while (name.ends_with(' ')) name.remove_suffix(1);
  std::string description(open == std::string_view::npos ? "" : text.substr(open + 1));
  if (description.ends_with(')')) description.pop_back();
  if (description.empty() || description == "undefined") return CleanText(name, 100);
  return CleanText(description + " (" + std::string(name) + ")", 200);
}

int SignalNumber(std::string_view name) {
  constexpr std::pair<std::string_view, int> kSignals[] = {
      {"SIGTERM", SIGTERM}, {"SIGKILL", SIGKILL}, {"SIGINT", SIGINT}, {"SIGHUP", SIGHUP}};
  for (const auto& [known, number] : kSignals) {
    if (name == known) return number;
  }
  return -1;
}

// The exit code of a process as Python states it: negative for a signal.
void StoreExit(int32_t code, LogFact* fact) {
  if (code == INT32_MIN) return;
  (code < 0 ? fact->signal : fact->exit) = code < 0 ? -code : code;
}

// How srun says that a task ended.
void StoreEnd(std::string_view how, LogFact* fact) {
  fact->of_task = true;
  constexpr std::string_view kExit = "Exited with exit code ";
  if (how.starts_with(kExit)) {
    how.remove_prefix(kExit.size());
    fact->exit = Small(how.substr(0, how.find_first_not_of("0123456789")));
    return;
  }
  constexpr std::pair<std::string_view, int> kWords[] = {{"Killed", SIGKILL},
                                                         {"Terminated", SIGTERM},
                                                         {"Aborted", SIGABRT},
                                                         {"Bus error", SIGBUS},
                                                         {"Segmentation fault", SIGSEGV},
                                                         {"Floating point exception", SIGFPE},
                                                         {"Interrupt", SIGINT},
                                                         {"Hangup", SIGHUP},
                                                         {"Illegal instruction", SIGILL},
                                                         {"Out Of Memory", SIGKILL}};
  for (const auto& [word, signal] : kWords) {
    if (how.starts_with(word)) fact->signal = signal;
  }
  fact->out_of_memory = how.starts_with("Out Of Memory");
}

// The parts of a time, as they are read. A year that is not stated is 2000.
class PartialTime {
 public:
  PartialTime() { time_.tm_year = 100; }
  void SetDate(std::string_view text) {
    yearless_ = false;
    time_.tm_year = Small(text.substr(0, 4), 1900) - 1900;
    SetMonth(text.substr(5, 2));
    SetDay(text.substr(8, 2));
  }
  void SetMonth(std::string_view text) { time_.tm_mon = Small(text, 1) - 1; }
  void SetDay(std::string_view text) { time_.tm_mday = Small(text, 1); }
  void SetClock(std::string_view text) {
    time_.tm_hour = Small(text.substr(0, 2), 0);
    time_.tm_min = Small(text.substr(3, 2), 0);
    time_.tm_sec = Small(text.substr(6, 2), 0);
    known_ = true;
    ns_ = 0;
    int64_t unit = 100'000'000;
    for (size_t i = 9; i < text.size() && unit > 0; ++i, unit /= 10) ns_ += (text[i] - '0') * unit;
  }
  void StoreIn(LogFact* fact) const {
    if (!known_ || time_.tm_mday == 0) return;
    std::tm copy = time_;
    const std::time_t seconds = timegm(&copy);
    if (seconds > 0 && seconds < INT64_MAX / 1'000'000'000 - 1) {
      fact->time_ns = static_cast<int64_t>(seconds) * 1'000'000'000 + ns_;
      fact->yearless = yearless_;
    }
  }

 private:
  std::tm time_ = {};
  int64_t ns_ = 0;
  bool known_ = false;
  bool yearless_ = true;
};

using Store = void (*)(std::string_view value, LogFact* fact, PartialTime* time);
struct FieldRow {
  std::string_view name;
  Store store;
};
constexpr FieldRow kFields[] = {
#define LOG_FIELD(name, ...)                                                     \
  {#name, [](std::string_view value, LogFact* fact, PartialTime* time) {         \
     static_cast<void>(value), static_cast<void>(fact), static_cast<void>(time); \
     __VA_ARGS__;                                                                \
   }},
#include "collector/import/logs/log_fields.def"
#undef LOG_FIELD
};

// An expression with named groups.
class Expression {
 public:
  explicit Expression(const char* text) : re_(text, Options()) {
    for (const auto& [group, name] : re_.CapturingGroupNames()) {
      for (const FieldRow& row : kFields) {
        if (row.name == name) stores_.emplace_back(static_cast<size_t>(group), row.store);
      }
    }
  }

  // Returns where the match ends.
  std::optional<size_t> Match(std::string_view text, size_t from, RE2::Anchor anchor, LogFact* fact,
                              PartialTime* time) const {
    std::array<re2::StringPiece, 20> groups;
    const int count = std::min(re_.NumberOfCapturingGroups() + 1, static_cast<int>(groups.size()));
    const re2::StringPiece whole(text.data(), text.size());
    if (!re_.Match(whole, from, text.size(), anchor, groups.data(), count)) return std::nullopt;
    for (const auto& [group, store] : stores_) {
      const re2::StringPiece& value = groups[group];
      if (value.data() != nullptr) store({value.data(), value.size()}, fact, time);
    }
    return static_cast<size_t>(groups[0].data() + groups[0].size() - text.data());
  }

 private:
  static RE2::Options Options() {
    RE2::Options options;
    options.set_encoding(RE2::Options::EncodingLatin1);  // logs may have any bytes
    options.set_log_errors(false);
    return options;
  }

  RE2 re_;
  std::vector<std::pair<size_t, Store>> stores_;
};

std::vector<std::string_view> Split(std::string_view keys) {
  std::vector<std::string_view> list;
  while (!keys.empty()) list.push_back(TakeUntil('|', &keys));
  return list;
}

// "1: [default5]:" is local rank 5 of srun's task 1, and not rank 1.
void SetTask(LogFact* fact) {
  if (!fact->weak || !fact->of_agent) return;
  fact->task = std::exchange(fact->rank, -1);
  fact->weak = false;
}

struct Pattern {
  Pattern(Says what, const char* text) : says(what), expression(text) {}

  Says says;
  Expression expression;
};

// A text of the column `keys`.
struct Key {
  // "comm 0x…- Init COMPLETE": the expression begins at "comm 0x", which stands in many lines;
  // "- Init COMPLETE" is what is searched for.
  explicit Key(std::string_view text) {
    constexpr std::string_view kGap = "…";
    const size_t gap = text.find(kGap);
    if (gap != std::string_view::npos) {
      begin = text.substr(0, gap);
      text.remove_prefix(gap + kGap.size());
    }
    searched = text;
  }

  // Where the expression begins, if `searched` was found at `at`.
  size_t BeginIn(std::string_view line, size_t at) const {
    return begin.empty() ? at : line.substr(0, at).rfind(begin);
  }

  std::string begin;
  std::string searched;
};

}  // namespace

struct LogPatterns::Tables {
  std::deque<Pattern> patterns;  // a deque: an RE2 cannot be moved
  std::deque<Expression> prefixes;
  std::vector<const Pattern*> frames;  // which are looked for in stacks only
  struct Candidate {
    Key key;
    const Pattern* pattern;
  };
  // Patterns with this key, or with a longer one that begins with it: a search finds the shorter.
  std::unordered_map<std::string, std::vector<Candidate>> by_key;
  std::unique_ptr<LogKeys> keys;
  RE2 rank_inside{R"re(.*(\[rank\d+\]:))re"};
  RE2 group_inside{R"re((\[PG [^\]]* Rank \d+\]|\[Rank \d+\]))re"};
  // "[Rank 0]: Ranks 4, 5" of which the statement speaks.
  Expression subject{
      R"re((?:\[Rank (?P<grank>\d+)\]: |(?P<another>but ))?Ranks? (?P<ranks>\d[\d, ]*)$)re"};
  Expression number_of_ranks{R"re(\b(?P<many>\d+) ranks?$)re"};  // "26 ranks"
};

// What the text before a statement says.
struct LogPatterns::Prefix {
  LogFact fact;
  size_t end = 0;
};

LogPatterns::LogPatterns() : tables_(std::make_unique<Tables>()) {
  std::vector<Tables::Candidate> all;
  const auto add = [&](Says says, const char* keys, const char* expression) {
    const Pattern& pattern = tables_->patterns.emplace_back(says, expression);
    if (says == Says::kFrame) return tables_->frames.push_back(&pattern);
    for (const std::string_view key : Split(keys)) all.push_back({Key(key), &pattern});
  };
#define LOG_PATTERN(identifier, says, keys, expression, ...) add(Says::says, keys, expression);
#include "collector/import/logs/log_patterns.def"
#undef LOG_PATTERN
#define LOG_PREFIX(identifier, expression, ...) tables_->prefixes.emplace_back(expression);
#include "collector/import/logs/log_prefixes.def"
#undef LOG_PREFIX
  std::vector<std::string> searched;
  for (const Tables::Candidate& one : all) {
    searched.push_back(one.key.searched);
    for (const Tables::Candidate& other : all) {
      const bool may_be = other.key.searched.starts_with(one.key.searched);
      if (may_be) tables_->by_key[one.key.searched].push_back(other);
    }
  }
  tables_->keys = std::make_unique<LogKeys>(std::move(searched));
}

LogPatterns::~LogPatterns() = default;

std::optional<KeyFound> LogPatterns::FindKey(std::string_view text, size_t from) const {
  return tables_->keys->Find(text, from);
}

std::optional<size_t> LogPatterns::Match(std::string_view line, const KeyFound& key,
                                         LogFact* fact) {
  const auto candidates = tables_->by_key.find(std::string(line.substr(key.at, key.size)));
  if (candidates == tables_->by_key.end()) return std::nullopt;
  for (const Tables::Candidate& candidate : candidates->second) {
    const size_t begin = candidate.key.BeginIn(line, key.at);
    if (begin == std::string_view::npos) continue;
    LogFact found = PrefixOf(line.substr(0, begin)).fact;
    PartialTime time;
    const std::optional<size_t> end =
        candidate.pattern->expression.Match(line, begin, RE2::ANCHOR_START, &found, &time);
    if (!end) continue;
    time.StoreIn(&found);
    SetTask(&found);
    found.says = candidate.pattern->says;
    *fact = std::move(found);
    return end;
  }
  return std::nullopt;
}

bool LogPatterns::MatchFrame(std::string_view text, LogFact* fact) const {
  PartialTime time;
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return false;
  return std::ranges::any_of(tables_->frames, [&](const Pattern* frame) {
    return frame->expression.Match(text, begin, RE2::ANCHOR_START, fact, &time).has_value();
  });
}

size_t LogPatterns::ReadPrefixes(std::string_view line, LogFact* fact) {
  size_t at = 0;
  PartialTime time;
  for (size_t count = 0; count < kMaxPrefixes; ++count) {
    const size_t begin = std::min(line.find_first_not_of(" \t", at), line.size());
    const auto matches = [&](const Expression& prefix) {
      for (const size_t from : {at, begin}) {
        if (const auto end = prefix.Match(line, from, RE2::ANCHOR_START, fact, &time)) {
          at = *end;
          return true;
        }
      }
      return false;
    };
    if (begin == line.size() || std::ranges::none_of(tables_->prefixes, matches)) {
      break;
    }
  }
  time.StoreIn(fact);
  SetTask(fact);
  return at;
}

const LogPatterns::Prefix& LogPatterns::PrefixOf(std::string_view before) {
  before = before.substr(before.size() - std::min(before.size(), kMaxBefore));
  if (known_.size() >= kMaxKnownPrefixes) known_.clear();
  std::unique_ptr<Prefix>& known = known_[std::string(before)];
  if (known != nullptr) return *known;
  known = std::make_unique<Prefix>();
  known->end = ReadPrefixes(before, &known->fact);
  // A line of one rank may begin after the progress bar, or inside a line, of another rank.
  const re2::StringPiece rest(before.data() + known->end, before.size() - known->end);
  re2::StringPiece inside;
  const auto read_inside = [&](LogFact* fact) {
    ReadPrefixes(
        {inside.data(), static_cast<size_t>(before.data() + before.size() - inside.data())}, fact);
  };
  if (RE2::PartialMatch(rest, tables_->rank_inside, &inside)) {
    LogFact fact;
    read_inside(&fact);
    known->fact = fact;
  } else if (known->fact.group_rank < 0 &&
             RE2::PartialMatch(rest, tables_->group_inside, &inside)) {
    read_inside(&known->fact);
  }
  PartialTime unused;
  tables_->subject.Match(before, 0, RE2::UNANCHORED, &known->fact, &unused);
  tables_->number_of_ranks.Match(before, 0, RE2::UNANCHORED, &known->fact, &unused);
  return *known;
}

}  // namespace rollcall::logs
