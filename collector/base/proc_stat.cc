// SPDX-License-Identifier: Apache-2.0
#include "collector/base/proc_stat.h"

#include <algorithm>
#include <cstddef>

#include "collector/base/text.h"

namespace rollcall {

std::string_view ProcStatField(std::string_view stat, int number) {
  size_t begin = stat.rfind(')');
  for (int field = 2; begin != std::string_view::npos && field < number; ++field) {
    begin = stat.find(' ', begin + 1);
  }
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = stat.substr(begin + 1);
  return rest.substr(0, rest.find_first_of(" \n"));
}

uint64_t ProcStatStartTicks(std::string_view stat) {
  return ParseNumber<uint64_t>(ProcStatField(stat, 22)).value_or(0);
}

std::string_view ProcStatusField(std::string_view status, std::string_view key) {
  while (!status.empty()) {
    std::string_view line = TakeUntil('\n', &status);
    if (!line.starts_with(key) || !line.substr(key.size()).starts_with(':')) continue;
    line.remove_prefix(key.size() + 1);
    return line.substr(std::min(line.size(), line.find_first_not_of(" \t")));
  }
  return {};
}

std::unordered_map<std::string_view, std::string_view> ProcVariables(std::string_view environment) {
  std::unordered_map<std::string_view, std::string_view> variables;
  while (!environment.empty()) {
    const std::string_view entry = TakeUntil('\0', &environment);
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

}  // namespace rollcall
