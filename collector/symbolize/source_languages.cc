// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/source_languages.h"

#include <algorithm>
#include <utility>

#include "collector/base/text.h"

namespace rollcall::source_languages {

std::string_view FirstWord(std::string_view code) {
  size_t end = 0;
  while (end < code.size() && IsWordChar(code[end])) ++end;
  return code.substr(0, end);
}

void SetCondition(std::string_view condition, SourceBlock* arm) {
  condition = Trim(condition);
  while (condition.starts_with('(') && condition.ends_with(')')) {
    condition = Trim(condition.substr(1, condition.size() - 2));
  }
  const std::string_view subject = FirstWord(condition);
  const std::string rest = ToLower(Trim(condition.substr(subject.size())));
  for (const auto& [text, equal] : {std::pair<std::string_view, bool>{"==", true},
                                    {"!=", false},
                                    {"/=", false},
                                    {".eq.", true},
                                    {".ne.", false}}) {
    if (!rest.starts_with(text)) continue;
    const std::string_view value = Trim(std::string_view(rest).substr(text.size()));
    const bool number = !value.empty() && std::ranges::all_of(value, [](char c) {
      return std::isdigit(static_cast<unsigned char>(c)) != 0;
    });
    if (!number || subject.empty()) return;
    arm->subject = subject;
    arm->value = value;
    arm->equal = equal;
    return;
  }
}

std::string ConditionText(std::string_view condition, size_t max_bytes) {
  std::string text;
  for (const char c : Trim(condition)) {
    const bool blank = IsBlank(c) || c == '\n';
    if (!blank || !text.ends_with(' ')) text += blank ? ' ' : c;
    if (text.size() > max_bytes) return text.substr(0, max_bytes) + "…";
  }
  return text;
}

void AddCondition(int first, int last, std::string_view text, SourceBlocks* found) {
  constexpr size_t kMaxBytes = 1000;  // it is only searched for names
  std::string condition = ConditionText(text, kMaxBytes);
  if (!condition.empty()) found->conditions.push_back({first, last, std::move(condition)});
}

bool EndsProgram(std::string_view function) {
  const std::string name = ToLower(function);
  constexpr std::string_view kNames[] = {"exit",      "_exit",     "quick_exit",  "abort",
                                         "terminate", "mpi_abort", "mpi_finalize"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

std::string WithoutDirectives(std::string_view text) {
  struct Conditional {
    bool taking;
    bool taken;
  };
  std::vector<Conditional> open;
  std::string result;
  result.reserve(text.size());
  bool directive = false;  // it continues on the next line
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(text.substr(0, end));
    const bool begins = !directive && line.starts_with('#');
    if (begins) {
      const std::string_view name = Trim(line.substr(1));
      if (name.starts_with("if")) {
        const bool taking = name != "if 0";
        open.push_back({taking, taking});
      } else if (name.starts_with("el") && !open.empty()) {
        open.back().taking = !open.back().taken;
        open.back().taken = true;
      } else if (name.starts_with("endif") && !open.empty()) {
        open.pop_back();
      }
    }
    const bool of_directive = directive || begins;
    directive = of_directive && line.ends_with('\\');
    const bool taken = std::ranges::all_of(open, &Conditional::taking);
    if (!of_directive && taken) result += text.substr(0, end);
    if (end < text.size()) result += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace rollcall::source_languages
