// SPDX-License-Identifier: Apache-2.0
#include "collector/import/flight_recorder/rank_pattern.h"

#include <algorithm>
#include <regex>

#include "collector/base/text.h"

namespace rollcall::flight_recorder {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int32_t ToRank(std::string_view digits) { return ParseNumber<int32_t>(digits).value_or(-1); }

}  // namespace

Result<RankPattern> RankPattern::Parse(const std::string& pattern) {
  try {
    const std::regex compiled(pattern);
    if (compiled.mark_count() != 1) {
      return Error{"the pattern needs one group, in parentheses, around the rank"};
    }
  } catch (const std::regex_error& problem) {
    return Error{problem.what()};
  }
  RankPattern result;
  result.pattern_ = pattern;
  return result;
}

NamedRank RankPattern::Find(std::string_view name) const {
  NamedRank result;
  if (!pattern_.empty()) {
    static constexpr size_t kMaxName = 255;  // NAME_MAX; std::regex recurses over the text
    std::cmatch match;
    const std::regex compiled(pattern_);
    if (name.size() <= kMaxName &&
        std::regex_search(name.data(), name.data() + name.size(), match, compiled)) {
      result.rank = ToRank({match[1].first, static_cast<size_t>(match[1].length())});
      result.prefix = std::string(name.data(), match[1].first);
    }
    return result;
  }
  // Removes extensions that are not numbers: ".json", ".pickle"; "rank.12" keeps its rank.
  for (size_t dot = name.rfind('.'); dot != std::string_view::npos && dot != 0;
       dot = name.rfind('.')) {
    if (dot + 1 < name.size() &&
        std::all_of(name.begin() + static_cast<ptrdiff_t>(dot) + 1, name.end(), IsDigit)) {
      break;
    }
    name = name.substr(0, dot);
  }
  size_t begin = name.size();
  while (begin > 0 && IsDigit(name[begin - 1])) --begin;
  if (begin == name.size()) return result;
  result.rank = ToRank(name.substr(begin));
  result.prefix = std::string(name.substr(0, begin));
  return result;
}

}  // namespace rollcall::flight_recorder
