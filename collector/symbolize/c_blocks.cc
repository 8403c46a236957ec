// SPDX-License-Identifier: Apache-2.0
// Blocks and exits of C and C++.
#include <algorithm>
#include <utility>

#include "collector/symbolize/source_languages.h"

namespace rollcall::source_languages {
namespace {

constexpr int kMaxNesting = 200;

struct Token {
  std::string_view text;  // a word, or one character
  int line = 0;
};

// Splits text into words and punctuation, without comments and literals. Fails if a comment or
// literal does not end.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  std::optional<std::vector<Token>> Read() {
    while (at_ < text_.size() && !broken_) {
      const char c = text_[at_];
      if (c == '\n' || IsBlank(c) || c == '\\' || c == '\f') {
        line_ += c == '\n';
        ++at_;
      } else if (Follows("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (Follows("/*")) {
        SkipTo("*/");
      } else if (Follows("R\"")) {
        const size_t open = std::min(text_.find('(', at_), text_.size());
        SkipTo(")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"");
      } else if (c == '"' || c == '\'') {
        Literal(c);
      } else {
        Word();
      }
    }
    if (broken_) return std::nullopt;
    return std::move(tokens_);
  }

 private:
  bool Follows(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void SkipTo(std::string_view end) {
    const size_t found = text_.find(end, at_ + 2);
    broken_ = found == std::string_view::npos;
    if (broken_) return;
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<ptrdiff_t>(at_),
                                         text_.begin() + static_cast<ptrdiff_t>(found), '\n'));
    at_ = found + end.size();
  }

  void Literal(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\') ++at_;
      line_ += at_ < text_.size() && text_[at_] == '\n';
    }
    ++at_;
  }

  void Word() {
    size_t end = at_;
    // 1'000'000 is one word.
    while (end < text_.size() && (IsWordChar(text_[end]) || (text_[end] == '\'' && end > at_))) {
      ++end;
    }
    if (end == at_) ++end;
    tokens_.push_back({text_.substr(at_, end - at_), line_});
    at_ = end;
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  bool broken_ = false;
  std::vector<Token> tokens_;
};

// Parses statements by recursive descent. An unknown construct (a macro, a declaration) is one
// statement up to its ';' or its block; every block is searched for statements.
class Statements {
 public:
  explicit Statements(const std::vector<Token>& tokens) : tokens_(tokens) {}

  std::optional<SourceBlocks> Read() {
    while (at_ < tokens_.size() && !broken_) Statement(0);
    if (broken_) return std::nullopt;
    return std::move(found_);
  }

 private:
  bool Is(std::string_view text) const { return at_ < tokens_.size() && tokens_[at_].text == text; }
  int LastLine() const { return at_ == 0 ? 1 : tokens_[at_ - 1].line; }

  void Statement(int depth) {
    broken_ |= depth > kMaxNesting;
    if (broken_ || at_ >= tokens_.size()) return;
    const int line = tokens_[at_].line;
    if (Is("{")) return Block(depth);
    if (Is("}") || Is(")") || Is("]")) {
      broken_ = true;
    } else if (Is("if")) {
      If(line, depth);
    } else if (Is("for") || Is("while")) {
      Loop(line, depth);
    } else if (Is("do")) {
      ++at_;
      Body(depth, false);
      const size_t begin = at_ + 1;
      if (Is("while")) {
        ++at_;
        Brackets(depth);
        AddCondition(line, LastLine(), InBrackets(begin), &found_);
      }
      AddLoop(line);
    } else if (Is("switch")) {
      const size_t begin = ++at_;
      Brackets(depth);
      sections_.push_back({InBrackets(begin), 0});
      Body(depth, true);
      EndSection(LastLine());
      sections_.pop_back();
    } else if (Is("try")) {
      Try(depth);
    } else if (Is("else")) {
      ++at_;  // its `if` is in an #if part that was left out
    } else {
      Other(depth);
    }
  }

  void Loop(int line, int depth) {
    const bool three_parts = Is("for");
    const size_t begin = ++at_;
    Brackets(depth);
    std::string_view condition = InBrackets(begin);
    if (three_parts) condition = LoopCondition(begin + 1, at_);
    Body(depth, false);
    AddCondition(line, LastLine(), condition, &found_);
    AddLoop(line);
  }

  // Of a `for` with the tokens [begin, end): the second of its three parts, or what it iterates
  // over.
  std::string_view LoopCondition(size_t begin, size_t end) const {
    int open = 0;
    size_t first = 0;
    for (size_t i = begin; i + 1 < end; ++i) {
      const std::string_view text = tokens_[i].text;
      open += text == "(" || text == "{" || text == "[";
      open -= text == ")" || text == "}" || text == "]";
      if (open != 0) continue;
      const bool of_scope = tokens_[i - 1].text == ":" || tokens_[i + 1].text == ":";
      if (first == 0 && text == ":" && !of_scope) return Between(i + 1, end - 1);
      if (text != ";") continue;
      if (first != 0) return Between(first, i);
      first = i + 1;
    }
    return {};
  }

  // The text from the token at `begin` to that before `end`.
  std::string_view Between(size_t begin, size_t end) const {
    if (begin >= end || end > tokens_.size()) return {};
    const char* first = tokens_[begin].text.data();
    const std::string_view last = tokens_[end - 1].text;
    return {first, static_cast<size_t>(last.data() + last.size() - first)};
  }

  // Ends the lines of a `case`. Its condition is that of the switch.
  void EndSection(int last) {
    auto& [condition, first] = sections_.back();
    if (first != 0) AddCondition(first, std::max(first, last), condition, &found_);
    first = 0;
  }

  // Adds the condition before the '?' at the next token, of the expression that begins at `begin`
  // or later. It decides about the rest of the statement.
  void AddTernary(size_t begin) {
    constexpr size_t kMaxTokens = 1000;
    int open = 0;
    size_t first = at_;
    for (; first > begin && at_ - first < kMaxTokens; --first) {
      const std::string_view text = tokens_[first - 1].text;
      open += text == ")" || text == "]";
      open -= text == "(" || text == "[";
      const bool assigns =
          text == "=" && first > begin + 1 &&
          std::string_view("=!<>").find(tokens_[first - 2].text[0]) == std::string_view::npos &&
          tokens_[first].text != "=";
      if (open < 0 || (open == 0 && (assigns || text == "," || text == ";" || text == "{" ||
                                     text == "return"))) {
        break;
      }
    }
    open = 0;
    size_t last = at_;
    for (; last + 1 < tokens_.size() && last - at_ < kMaxTokens; ++last) {
      const std::string_view text = tokens_[last].text;
      open += text == "(" || text == "{" || text == "[";
      open -= text == ")" || text == "}" || text == "]";
      if (open < 0 || (open == 0 && text == ";")) break;
    }
    if (first < at_) {
      AddCondition(tokens_[first].line, tokens_[last].line, Between(first, at_), &found_);
    }
  }

  // The body of a loop or a switch. A `break` in it leaves this loop or switch only.
  void Body(int depth, bool of_switch) {
    const bool outer = std::exchange(in_switch_, of_switch);
    Statement(depth + 1);
    in_switch_ = outer;
  }

  void Try(int depth) {
    const uint32_t group = tries_++;
    int first = tokens_[at_++].line;
    Statement(depth + 1);
    AddFlow(FlowKind::kTry, first, group);
    while (Is("catch")) {
      first = tokens_[at_++].line;
      Brackets(depth);
      Statement(depth + 1);
      AddFlow(FlowKind::kHandler, first, group);
    }
  }

  void Function(int depth) {
    const int first = tokens_[at_].line;
    Block(depth);
    AddFlow(FlowKind::kFunction, first);
  }

  void AddFlow(FlowKind kind, int first, uint32_t group = 0) {
    found_.flow.push_back({.kind = kind, .first = first, .last = LastLine(), .group = group});
  }

  // Adds the next token, of the statement that begins at `begin`, if it leaves a function or a
  // loop.
  void AddExit(size_t begin) {
    const std::string_view text = tokens_[at_].text;
    SourceFlow exit{.first = tokens_[at_].line, .last = tokens_[at_].line};
    const bool free = at_ == begin || std::string_view(":=!,").find(tokens_[at_ - 1].text[0]) !=
                                          std::string_view::npos;
    if (text == "return") {
      exit.kind = FlowKind::kReturn;
    } else if (text == "throw") {
      exit.kind = FlowKind::kThrow;
    } else if (text == "break" && !in_switch_) {
      exit.kind = FlowKind::kBreak;
    } else if (text == "continue") {
      exit.kind = FlowKind::kContinue;
    } else if (free && EndsProgram(text) && at_ + 1 < tokens_.size() &&
               tokens_[at_ + 1].text == "(") {
      exit.kind = FlowKind::kEnd;
    } else {
      return;
    }
    if (!conditions_.empty()) exit.condition = conditions_.back();
    found_.flow.push_back(std::move(exit));
  }

  void AddLoop(int first) { found_.blocks.push_back({.first = first, .last = LastLine()}); }

  void AddArm(int first, uint32_t branch, std::string_view condition) {
    SourceBlock arm{.kind = BlockKind::kArm, .first = first, .last = LastLine(), .branch = branch};
    SetCondition(condition, &arm);
    found_.blocks.push_back(std::move(arm));
  }

  void If(int line, int depth) {
    const uint32_t branch = branches_++;
    ++at_;
    if (Is("constexpr")) ++at_;
    const size_t begin = at_;
    Brackets(depth);
    std::string condition;
    for (size_t i = begin; i < at_ && i < begin + 10; ++i) condition += tokens_[i].text;
    const std::string_view whole = InBrackets(begin);
    Arm(depth, ConditionText(whole));
    AddArm(line, branch, condition);
    AddCondition(line, LastLine(), whole, &found_);
    if (!Is("else")) return;
    const int other = tokens_[at_++].line;
    Arm(depth, "");
    AddArm(other, branch, "");
    AddCondition(other, LastLine(), whole, &found_);
  }

  void Arm(int depth, std::string condition) {
    conditions_.push_back(std::move(condition));
    Statement(depth + 1);
    conditions_.pop_back();
  }

  // The text between the bracket at `begin` and the bracket before the next token.
  std::string_view InBrackets(size_t begin) const {
    if (broken_ || at_ < begin + 2) return {};
    const char* first = tokens_[begin].text.data() + 1;
    return {first, static_cast<size_t>(tokens_[at_ - 1].text.data() - first)};
  }

  void Block(int depth) {
    ++at_;
    while (!broken_ && at_ < tokens_.size() && !Is("}")) Statement(depth + 1);
    broken_ |= at_ >= tokens_.size();
    ++at_;
  }

  // Moves from a '(' past its ')'; does nothing without a '('. Lambdas inside contain statements.
  void Brackets(int depth) {
    if (!Is("(")) return;
    int open = 0;
    const size_t begin = at_;
    while (at_ < tokens_.size() && !broken_) {
      if (Is("?")) AddTernary(begin);
      if (Is("{")) {
        OpensLambda() ? Function(depth + 1) : Block(depth + 1);
        continue;
      }
      open += Is("(");
      open -= Is(")");
      ++at_;
      if (open == 0) return;
    }
    broken_ = true;
  }

  static bool IsControl(std::string_view word) {
    return word == "if" || word == "for" || word == "while" || word == "do" || word == "switch" ||
           word == "else" || word == "try";
  }

  // Whether the next brace follows "[…]" or "(…)", directly or with a type or a word in between.
  bool OpensLambda() const {
    for (size_t i = at_; i-- > 0;) {
      const std::string_view text = tokens_[i].text;
      if (text == ")" || text == "]") return true;
      if (!IsWordChar(text[0]) && std::string_view("-<>:*&").find(text) == std::string_view::npos) {
        return false;
      }
    }
    return false;
  }

  void Other(int depth) {
    const size_t begin = at_;
    if ((Is("case") || Is("default")) && in_switch_ && !sections_.empty()) {
      EndSection(tokens_[at_].line - 1);
      sections_.back().first = tokens_[at_].line;
    }
    bool value = false;   // a brace opens an initialiser, or a lambda's body
    bool called = false;  // it has brackets: a brace opens the body of a function
    while (at_ < tokens_.size() && !broken_) {
      const std::string_view text = tokens_[at_].text;
      if (text == "}" || IsControl(text)) return;  // after a label or a macro
      if (text == "(") {
        called = true;
        Brackets(depth);
        continue;
      }
      if (text == "{") {
        (value ? OpensLambda() : called) ? Function(depth) : Block(depth);
        if (!value) {
          if (Is(";")) ++at_;
          return;
        }
        continue;
      }
      value |= text == "=" || text == "return";
      if (text == "?") AddTernary(begin);
      AddExit(begin);
      ++at_;
      if (text == ";") return;
    }
  }

  const std::vector<Token>& tokens_;
  size_t at_ = 0;
  bool broken_ = false;
  uint32_t branches_ = 0;
  uint32_t tries_ = 0;
  bool in_switch_ = false;               // in a switch, and in no loop inside that switch
  std::vector<std::string> conditions_;  // of the arms around
  struct Section {
    std::string_view condition;
    int first;  // line of the `case`; 0: none yet
  };
  std::vector<Section> sections_;  // of the switches around
  SourceBlocks found_;
};

}  // namespace

std::optional<SourceBlocks> BlocksByBraces(std::string_view text) {
  const std::string code = WithoutDirectives(text);
  const std::optional<std::vector<Token>> tokens = Tokens(code).Read();
  return tokens ? Statements(*tokens).Read() : std::nullopt;
}

}  // namespace rollcall::source_languages
