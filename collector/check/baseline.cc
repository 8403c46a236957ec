// SPDX-License-Identifier: Apache-2.0
#include "collector/check/baseline.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <optional>

#include "collector/base/result.h"
#include "collector/base/text.h"

namespace rollcall {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kBecause = " because ";

// Removes the first word from `text` and returns it.
std::string_view Word(std::string_view* text) {
  const size_t end = std::min(text->find_first_of(kBlanks), text->size());
  const std::string_view word = text->substr(0, end);
  *text = Trim(text->substr(end));
  return word;
}

bool Matches(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

// Matches the whole path, or the part after any of its slashes.
bool MatchesPath(const std::string& pattern, const std::string& path) {
  if (Matches(pattern, path)) return true;
  for (size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    if (Matches(pattern, path.substr(slash + 1))) return true;
  }
  return false;
}

// Parses the entry on one line.
Result<BaselineEntry> ParseEntry(std::string_view line) {
  BaselineEntry entry;
  const std::string_view kind = Word(&line);
  const std::optional<VerdictKind> known = FindKind(kind);
  if (!known) return Error{fmt::format("'{}' is not a kind of finding", kind)};
  entry.kind = *known;
  const std::string_view where = Word(&line);
  if (where != "at" && where != "in") {
    return Error{fmt::format("'at FILE' or 'in FUNCTION' is missing after '{}'", kind)};
  }
  entry.where = where == "at" ? BaselineEntry::Where::kFile : BaselineEntry::Where::kFunction;
  // The pattern may be missing: "in because …".
  const std::string padded = fmt::format(" {} ", line);
  const size_t because = padded.find(kBecause);
  if (because == std::string::npos) return Error{"no reason: every entry ends in 'because …'"};
  entry.pattern = Trim(std::string_view(padded).substr(0, because));
  entry.reason = Trim(std::string_view(padded).substr(because + kBecause.size()));
  if (entry.reason.empty()) return Error{"no reason after 'because'"};
  if (entry.pattern.empty()) return Error{fmt::format("no pattern after '{}'", where)};
  return entry;
}

}  // namespace

bool BaselineEntry::Fits(const Finding& finding) const {
  if (finding.kind != kind) return false;
  if (pattern == "*") return true;
  return std::ranges::any_of(finding.sites, [this](const Site& site) {
    return where == Where::kFile ? MatchesPath(pattern, site.frame.file)
                                 : Matches(pattern, site.frame.function);
  });
}

std::string BaselineEntry::Text() const {
  return fmt::format("{} {} {}", KindName(kind), where == Where::kFile ? "at" : "in", pattern);
}

Baseline ParseBaseline(std::string_view text, const std::string& name,
                       std::vector<std::string>* errors) {
  Baseline baseline;
  baseline.name = name;
  int number = 0;
  while (!text.empty()) {
    const std::string_view line = Trim(TakeUntil('\n', &text));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (Result<BaselineEntry> entry = ParseEntry(line)) {
      entry->line = number;
      baseline.entries.push_back(std::move(*entry));
    } else {
      errors->push_back(fmt::format("{}:{}: {}", name, number, entry.error()));
    }
  }
  return baseline;
}

}  // namespace rollcall
