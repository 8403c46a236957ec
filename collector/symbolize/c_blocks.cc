// Blocks of C and C++.
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

  std::optional<Blocks> Read() {
    while (at_ < tokens_.size() && !broken_) Statement(0);
    if (broken_) return std::nullopt;
    return std::move(blocks_);
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
      ++at_;
      Brackets(depth);
      Statement(depth + 1);
      AddLoop(line);
    } else if (Is("do")) {
      ++at_;
      Statement(depth + 1);
      if (Is("while")) {
        ++at_;
        Brackets(depth);
      }
      AddLoop(line);
    } else if (Is("switch")) {
      ++at_;
      Brackets(depth);
      Statement(depth + 1);
    } else if (Is("else")) {
      ++at_;  // its `if` is in an #if part that was left out
    } else {
      Other(depth);
    }
  }

  void AddLoop(int first) { blocks_.push_back({.first = first, .last = LastLine()}); }

  void AddArm(int first, uint32_t branch, std::string_view condition) {
    SourceBlock arm{.kind = BlockKind::kArm, .first = first, .last = LastLine(), .branch = branch};
    SetCondition(condition, &arm);
    blocks_.push_back(std::move(arm));
  }

  void If(int line, int depth) {
    const uint32_t branch = branches_++;
    ++at_;
    if (Is("constexpr")) ++at_;
    const size_t begin = at_;
    Brackets(depth);
    std::string condition;
    for (size_t i = begin; i < at_ && i < begin + 10; ++i) condition += tokens_[i].text;
    Statement(depth + 1);
    AddArm(line, branch, condition);
    if (!Is("else")) return;
    const int other = tokens_[at_++].line;
    Statement(depth + 1);
    AddArm(other, branch, "");
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
    while (at_ < tokens_.size() && !broken_) {
      if (Is("{")) {
        Block(depth + 1);
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
           word == "else";
  }

  void Other(int depth) {
    bool value = false;  // a brace opens an initialiser, or a lambda's body
    while (at_ < tokens_.size() && !broken_) {
      const std::string_view text = tokens_[at_].text;
      if (text == "}" || IsControl(text)) return;  // after a label or a macro
      if (text == "(") {
        Brackets(depth);
        continue;
      }
      if (text == "{") {
        Block(depth);
        if (!value) {
          if (Is(";")) ++at_;
          return;
        }
        continue;
      }
      value |= text == "=" || text == "return";
      ++at_;
      if (text == ";") return;
    }
  }

  const std::vector<Token>& tokens_;
  size_t at_ = 0;
  bool broken_ = false;
  uint32_t branches_ = 0;
  Blocks blocks_;
};

}  // namespace

std::optional<Blocks> BlocksByBraces(std::string_view text) {
  const std::string code = WithoutDirectives(text);
  const std::optional<std::vector<Token>> tokens = Tokens(code).Read();
  return tokens ? Statements(*tokens).Read() : std::nullopt;
}

}  // namespace rollcall::source_languages
