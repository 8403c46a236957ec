// SPDX-License-Identifier: Apache-2.0
// Blocks and exits of Python.
#include <algorithm>
#include <utility>

#include "collector/base/text.h"
#include "collector/symbolize/source_languages.h"

namespace rollcall::source_languages {
namespace {

// Lines joined by brackets and backslashes, without comments and the contents of strings.
struct LogicalLine {
  int first = 0;
  int last = 0;
  int indent = 0;
  std::string code;
  bool comprehension = false;  // a `for` in brackets
};

class PythonLines {
 public:
  explicit PythonLines(std::string_view text) : text_(text) {}

  std::optional<std::vector<LogicalLine>> Read() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        if (brackets_ == 0) Finish();
        ++line_;
        ++at_;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '\\') {
        at_ += text_.substr(at_ + 1).starts_with('\r') ? 3 : 2;
        ++line_;
      } else if (c == '"' || c == '\'') {
        if (!String(c)) return std::nullopt;
      } else {
        Put(c);
      }
    }
    Finish();
    if (brackets_ != 0) return std::nullopt;
    return std::move(lines_);
  }

 private:
  void Put(char c) {
    ++at_;
    if (current_.first == 0) {
      if (c == '\t') return void(indent_ += 8 - indent_ % 8);
      if (IsBlank(c) || c == '\f') return void(indent_ += c == ' ');
      current_.first = line_;
      current_.indent = indent_;
    }
    brackets_ += c == '(' || c == '[' || c == '{';
    brackets_ -= c == ')' || c == ']' || c == '}';
    brackets_ = std::max(brackets_, 0);
    current_.code += c;
    if (brackets_ > 0 && !IsWordChar(c) &&
        std::string_view(current_.code).substr(0, current_.code.size() - 1).ends_with(" for")) {
      current_.comprehension = true;
    }
  }

  bool String(char quote) {
    const std::string three(3, quote);
    const bool triple = text_.substr(at_).starts_with(three);
    if (current_.first == 0) {
      current_.first = line_;
      current_.indent = indent_;
    }
    current_.code += "''";
    at_ += triple ? 3 : 1;
    while (at_ < text_.size()) {
      if (triple ? text_.substr(at_).starts_with(three) : text_[at_] == quote) {
        at_ += triple ? 3 : 1;
        return true;
      }
      if (text_[at_] == '\\') ++at_;
      line_ += at_ < text_.size() && text_[at_] == '\n';
      ++at_;
    }
    return false;
  }

  void Finish() {
    indent_ = 0;
    if (current_.first == 0) return;
    current_.last = line_;
    lines_.push_back(std::move(current_));
    current_ = {};
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  int indent_ = 0;
  int brackets_ = 0;
  LogicalLine current_;
  std::vector<LogicalLine> lines_;
};

// The names in " step, (a, b) in enumerate(…):", separated by blanks.
std::string Targets(std::string_view code) {
  std::string names;
  for (size_t at = 0; at < code.size();) {
    size_t end = at;
    while (end < code.size() && IsWordChar(code[end])) ++end;
    const std::string_view word = code.substr(at, end - at);
    if (word == "in") break;
    if (!word.empty()) names += (names.empty() ? "" : " ") + std::string(word);
    at = std::max(end, at + 1);
  }
  return names;
}

// The text between the first `begin` and the last `end` behind it; empty if there is none.
std::string_view Within(std::string_view code, std::string_view begin, std::string_view end) {
  const size_t first = code.find(begin);
  if (first == std::string_view::npos) return {};
  code.remove_prefix(first + begin.size());
  const size_t last = end.empty() ? code.size() : code.rfind(end);
  return last == std::string_view::npos ? std::string_view{} : code.substr(0, last);
}

// Adds the conditions inside a statement: "a() if b else c", "[a() for b in c if d]".
void AddConditionsWithin(const LogicalLine& line, SourceBlocks* found) {
  const std::string_view word = FirstWord(line.code);
  if (word == "if" || word == "elif" || word == "while") return;
  AddCondition(line.first, line.last, Within(line.code, " if ", " else "), found);
  if (!line.comprehension) return;
  const std::string_view over = Within(line.code, " for ", "");
  AddCondition(line.first, line.last, Within(over, " in ", ""), found);
}

// Adds the statements of `line`, which may follow a colon or a semicolon, that leave a function or
// a loop, or end the program.
void AddExits(const LogicalLine& line, std::string_view around, std::vector<SourceFlow>* flow) {
  const std::string_view code = line.code;
  for (size_t at = 0; at < code.size();) {
    const size_t end = std::min(code.find_first_of(":;", at), code.size());
    const std::string_view statement = Trim(code.substr(at, end - at));
    const std::string_view word = FirstWord(statement);
    const std::string_view name = statement.substr(0, statement.find('('));
    SourceFlow exit{.first = line.first, .last = line.last};
    if (word == "return") {
      exit.kind = FlowKind::kReturn;
    } else if (word == "raise") {
      exit.kind = FlowKind::kThrow;
    } else if (word == "break") {
      exit.kind = FlowKind::kBreak;
    } else if (word == "continue") {
      exit.kind = FlowKind::kContinue;
    } else if (name.size() < statement.size() && (name == "quit" || name.ends_with(".Abort") ||
                                                  EndsProgram(name.substr(name.rfind('.') + 1)))) {
      exit.kind = FlowKind::kEnd;
    } else {
      at = end + 1;
      continue;
    }
    const bool own = at > 0 && FirstWord(code) == "if";
    exit.condition = own ? ConditionText(code.substr(2, code.find(':') - 2)) : std::string(around);
    flow->push_back(std::move(exit));
    at = end + 1;
  }
}

}  // namespace

std::optional<SourceBlocks> BlocksByIndentation(std::string_view text) {
  const std::optional<std::vector<LogicalLine>> lines = PythonLines(text).Read();
  if (!lines) return std::nullopt;
  SourceBlocks found;
  struct Open {
    int indent;
    uint32_t branch;
    std::string condition = {};
  };
  std::vector<Open> branches;  // that an else may continue
  std::vector<Open> tries;     // that an except may continue
  std::vector<Open> arms;      // around the line
  struct Match {
    int indent;
    std::string subject;
  };
  std::vector<Match> matches;  // around the line
  uint32_t next_branch = 0;
  uint32_t next_try = 0;
  for (size_t i = 0; i < lines->size(); ++i) {
    const LogicalLine& line = (*lines)[i];
    const auto is_deeper = [&](const Open& open) { return open.indent > line.indent; };
    const auto is_as_deep = [&](const Open& open) { return open.indent >= line.indent; };
    std::erase_if(branches, is_deeper);
    std::erase_if(tries, is_deeper);
    std::erase_if(arms, is_as_deep);
    AddExits(line, arms.empty() ? "" : arms.back().condition, &found.flow);
    std::string_view code = line.code;
    if (code.starts_with("async ")) code = Trim(code.substr(6));
    const std::string_view word = FirstWord(code);
    const bool loop = word == "for" || word == "while";
    const bool continues = word == "else" || word == "elif";
    if (!continues) std::erase_if(branches, is_as_deep);
    const bool handler = word == "except" && !tries.empty() && tries.back().indent == line.indent;
    if (!continues && !handler && word != "finally") std::erase_if(tries, is_as_deep);
    if (line.comprehension) found.blocks.push_back({.first = line.first, .last = line.last});
    AddConditionsWithin(line, &found);
    std::erase_if(matches, [&](const Match& match) { return match.indent >= line.indent; });
    const bool opens = code.ends_with(':');
    if (word == "match" && opens) {
      matches.push_back({line.indent, std::string(code.substr(5, code.size() - 6))});
    }
    const bool section = word == "case" && !matches.empty();
    const bool flows = word == "def" || word == "try" || handler;
    if (!loop && !continues && !flows && !section && word != "if") continue;
    int last = line.last;
    for (size_t j = i + 1; j < lines->size() && (*lines)[j].indent > line.indent; ++j) {
      last = (*lines)[j].last;
    }
    if (section) {
      const std::string guard(Within(code, " if ", ":"));
      AddCondition(line.first, last, matches.back().subject + " " + guard, &found);
      continue;
    }
    if (word == "while") AddCondition(line.first, last, Within(code, "while", ":"), &found);
    if (word == "for") AddCondition(line.first, last, Within(code, " in ", ":"), &found);
    if (flows) {
      SourceFlow flow{.first = line.first, .last = last};
      flow.kind = handler         ? FlowKind::kHandler
                  : word == "try" ? FlowKind::kTry
                                  : FlowKind::kFunction;
      if (word == "try") tries.push_back({line.indent, next_try++});
      if (word != "def") flow.group = tries.back().branch;
      if (word == "def") arms.push_back({line.indent, 0});  // the arms around it are not its own
      found.flow.push_back(std::move(flow));
      continue;
    }
    SourceBlock block{.kind = loop ? BlockKind::kLoop : BlockKind::kArm, .first = line.first};
    block.last = last;
    if (word == "for") block.subject = Targets(code.substr(word.size()));
    if (!loop) {
      // The else of a loop or of a try continues no branch.
      if (continues && (branches.empty() || branches.back().indent != line.indent)) continue;
      if (!continues) branches.push_back({line.indent, next_branch++});
      block.branch = branches.back().branch;
      code.remove_prefix(word.size());
      const std::string_view condition = code.substr(0, code.find(':'));
      if (!continues) SetCondition(condition, &block);
      // An arm is executed only if the conditions of the earlier arms do not hold.
      std::string& all = branches.back().condition;
      all += (all.empty() ? "" : " ") + std::string(Trim(condition));
      AddCondition(line.first, last, all, &found);
      arms.push_back({line.indent, 0, ConditionText(condition)});
    }
    found.blocks.push_back(std::move(block));
  }
  return found;
}

}  // namespace rollcall::source_languages
