// SPDX-License-Identifier: Apache-2.0
// Blocks and exits of Fortran.
#include <algorithm>
#include <utility>

#include "collector/base/text.h"
#include "collector/symbolize/source_languages.h"

namespace rollcall::source_languages {
namespace {

// Returns the line in lower case, without comments and the contents of strings.
std::string FortranCode(std::string_view line) {
  std::string code;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '!') break;
    if (c == '\'' || c == '"') {
      quote = c;
      continue;
    }
    code += c;
  }
  return ToLower(Trim(code));
}

std::string WithoutBlanks(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (!IsBlank(c)) result += c;
  }
  return result;
}

// Whether the statement begins a program unit or a procedure.
bool BeginsFunction(std::string_view rest_of_line) {
  if (FirstWord(rest_of_line) == "program") return true;
  for (std::string_view rest = rest_of_line.substr(0, rest_of_line.find('(')); !rest.empty();) {
    const std::string_view word = FirstWord(rest);
    if (word == "end" || word == "call") return false;
    if (word == "subroutine" || word == "function") return true;
    rest.remove_prefix(std::max<size_t>(word.size(), 1));
  }
  return false;
}

// The exit that a statement without blanks makes; empty if it makes none. An EXIT or CYCLE with a
// name may leave several loops.
std::optional<FlowKind> ExitOf(std::string_view packed) {
  if (packed == "return") return FlowKind::kReturn;
  if (packed == "exit") return FlowKind::kBreak;
  if (packed == "cycle") return FlowKind::kContinue;
  if (packed.starts_with("errorstop")) return FlowKind::kEnd;
  if (packed.starts_with("stop") && packed.find('=') == std::string_view::npos) {
    return FlowKind::kEnd;
  }
  if (!packed.starts_with("call")) return std::nullopt;
  packed.remove_prefix(4);
  return EndsProgram(FirstWord(packed)) ? std::optional(FlowKind::kEnd) : std::nullopt;
}

// Removes "if(…)" from "if(…)statement" and returns the condition; empty for another statement.
std::string_view TakeCondition(std::string_view* packed) {
  if (!packed->starts_with("if(")) return {};
  int open = 0;
  for (size_t i = 2; i < packed->size(); ++i) {
    open += (*packed)[i] == '(';
    open -= (*packed)[i] == ')';
    if (open != 0) continue;
    const std::string_view condition = packed->substr(3, i - 3);
    packed->remove_prefix(i + 1);
    return condition;
  }
  return {};
}

// What ends the loop: "x<1" of "dowhile(x<1)", "i=1,n" of "doi=1,n".
std::string LoopCondition(std::string_view packed) {
  packed.remove_prefix(2);
  return std::string(packed.starts_with("while(") ? packed.substr(5) : packed);
}

}  // namespace

std::optional<SourceBlocks> BlocksByEnds(std::string_view text) {
  const std::string code = WithoutDirectives(text);
  SourceBlocks found;
  struct Open {
    bool loop;
    int first;
    uint32_t branch;
    std::string condition;
    std::string decides = {};  // the conditions of the loop, or of this and the earlier arms
  };
  std::vector<Open> open;
  struct Select {
    std::string condition;
    int first;  // of the open `case`; 0: none yet
  };
  std::vector<Select> selects;
  std::vector<int> functions;  // where they begin
  uint32_t branches = 0;
  int line = 0;
  int begins = 0;
  std::string statement;  // with the lines that '&' joins to it
  const auto close = [&](int last) {
    SourceBlock block{.first = open.back().first, .last = last, .branch = open.back().branch};
    block.kind = open.back().loop ? BlockKind::kLoop : BlockKind::kArm;
    if (!open.back().loop) SetCondition(open.back().condition, &block);
    AddCondition(block.first, last, open.back().decides, &found);
    found.blocks.push_back(std::move(block));
  };
  const auto end_case = [&](int last) {
    Select& select = selects.back();
    if (select.first != 0) AddCondition(select.first, last, select.condition, &found);
  };
  for (std::string_view rest = code; !rest.empty();) {
    std::string part = FortranCode(TakeUntil('\n', &rest));
    ++line;
    if (part.empty()) continue;
    if (statement.empty()) begins = line;
    if (part.starts_with('&')) part.erase(0, 1);
    const bool continues = part.ends_with('&');
    if (continues) part.pop_back();
    statement += part;
    if (continues) continue;
    std::string_view rest_of_line = statement;
    // "outer: do i = 1, n"
    const std::string_view name = FirstWord(rest_of_line);
    const std::string_view after_name = Trim(rest_of_line.substr(name.size()));
    if (after_name.starts_with(':') && !after_name.starts_with("::"))
      rest_of_line = Trim(after_name.substr(1));
    const std::string packed = WithoutBlanks(rest_of_line);
    const std::string_view word = FirstWord(rest_of_line);
    if (word == "do" && packed.find('=') != 2) {
      if (packed.size() > 2 && std::isdigit(static_cast<unsigned char>(packed[2])) != 0) {
        return std::nullopt;  // ends at a label
      }
      open.push_back({true, begins, 0, "", LoopCondition(packed)});
    } else if (packed.starts_with("selectcase(") && packed.ends_with(')')) {
      selects.push_back({packed.substr(11, packed.size() - 12), 0});
    } else if (packed.starts_with("selecttype(") || packed.starts_with("selectrank(")) {
      selects.push_back({"", 0});
    } else if (!selects.empty() && (packed.starts_with("case(") || packed == "casedefault")) {
      end_case(begins - 1);
      selects.back().first = begins;
    } else if (!selects.empty() && packed.starts_with("endselect")) {
      end_case(line);
      selects.pop_back();
    } else if (packed.starts_with("if(") && packed.ends_with(")then")) {
      const std::string condition = packed.substr(3, packed.size() - 8);
      open.push_back({false, begins, branches++, condition, condition});
    } else if (packed == "else" || packed.starts_with("elseif(")) {
      if (open.empty() || open.back().loop) return std::nullopt;
      close(begins - 1);
      open.back().first = begins;
      open.back().condition.clear();
      if (packed != "else") open.back().decides += ' ' + packed.substr(6);
    } else if (packed.starts_with("enddo") || packed.starts_with("endif")) {
      if (open.empty() || open.back().loop != packed.starts_with("enddo")) return std::nullopt;
      close(line);
      open.pop_back();
    }
    std::string_view does = packed;
    std::string_view condition = TakeCondition(&does);
    if (does != "then") AddCondition(begins, line, condition, &found);
    if (const std::optional<FlowKind> kind = ExitOf(does)) {
      const auto arm =
          std::find_if(open.rbegin(), open.rend(), [](const Open& o) { return !o.loop; });
      if (condition.empty() && arm != open.rend()) condition = arm->condition;
      if (!condition.empty() && does.size() < packed.size()) {  // an arm of one statement
        SourceBlock block{
            .kind = BlockKind::kArm, .first = begins, .last = line, .branch = branches++};
        SetCondition(condition, &block);
        found.blocks.push_back(std::move(block));
      }
      found.flow.push_back(
          {.kind = *kind, .first = begins, .last = line, .condition = ConditionText(condition)});
    } else if (BeginsFunction(rest_of_line)) {
      functions.push_back(begins);
    } else if (!functions.empty() &&
               (packed == "end" || packed.starts_with("endsubroutine") ||
                packed.starts_with("endfunction") || packed.starts_with("endprogram"))) {
      found.flow.push_back({.first = functions.back(), .last = line});
      functions.pop_back();
    }
    statement.clear();
  }
  if (!open.empty()) return std::nullopt;
  return found;
}

}  // namespace rollcall::source_languages
