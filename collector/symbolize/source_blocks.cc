#include "collector/symbolize/source_blocks.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "collector/symbolize/source_excerpt.h"

namespace rollcall {
namespace {

using BlockKind = SourceBlock::Kind;
using Blocks = std::vector<SourceBlock>;

constexpr size_t kMaxSourceBytes = 4 << 20;
constexpr int kMaxNesting = 200;

bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

// "rank == 0", "rank != 0", "rank .eq. 0", in brackets or not.
void SetCondition(std::string_view condition, SourceBlock* arm) {
  condition = Trim(condition);
  while (condition.starts_with('(') && condition.ends_with(')')) {
    condition = Trim(condition.substr(1, condition.size() - 2));
  }
  size_t at = 0;
  while (at < condition.size() && IsWordChar(condition[at])) ++at;
  const std::string_view subject = condition.substr(0, at);
  const std::string rest = Lower(Trim(condition.substr(at)));
  for (const auto& [text, equal] : {std::pair<std::string_view, bool>{"==", true},
                                    {"!=", false},
                                    {"/=", false},
                                    {".eq.", true},
                                    {".ne.", false}}) {
    if (!rest.starts_with(text)) continue;
    const std::string_view value = Trim(std::string_view(rest).substr(text.size()));
    const bool number = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
      return std::isdigit(static_cast<unsigned char>(c)) != 0;
    });
    if (!number || subject.empty()) return;
    arm->subject = subject;
    arm->value = value;
    arm->equal = equal;
    return;
  }
}

// --- C and C++ ------------------------------------------------------------------------------

// Blanks preprocessor lines and, of #if and #else, the parts behind the first: both may open the
// same brace.
std::string WithoutDirectives(std::string_view text) {
  struct Conditional {
    bool taking;
    bool taken;
  };
  std::vector<Conditional> open;
  std::string result;
  result.reserve(text.size());
  bool directive = false;  // its line goes on
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
    const bool taken =
        std::all_of(open.begin(), open.end(), [](const Conditional& one) { return one.taking; });
    if (!of_directive && taken) result += text.substr(0, end);
    if (end < text.size()) result += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

struct Token {
  std::string_view text;  // a word, or one character
  int line = 0;
};

// Words and marks without comments and literals; none where something does not end.
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

// Statements by recursive descent. What it does not know (a macro, a declaration) is one statement
// up to its ';' or its block, and statements are looked for in every block.
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
      ++at_;  // of an #if that was left out
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

  // From a '(' behind its ')'; nothing if none stands there. Lambdas in it have statements.
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
      if (text == "}" || IsControl(text)) return;  // behind a label, a macro
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

std::optional<Blocks> BlocksByBraces(std::string_view text) {
  const std::string code = WithoutDirectives(text);
  const std::optional<std::vector<Token>> tokens = Tokens(code).Read();
  return tokens ? Statements(*tokens).Read() : std::nullopt;
}

// --- Python -----------------------------------------------------------------------------------

// What lines join by brackets and backslashes, without comments and the insides of strings.
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

std::string_view FirstWord(std::string_view code) {
  size_t end = 0;
  while (end < code.size() && IsWordChar(code[end])) ++end;
  return code.substr(0, end);
}

std::optional<Blocks> BlocksByIndentation(std::string_view text) {
  const std::optional<std::vector<LogicalLine>> lines = PythonLines(text).Read();
  if (!lines) return std::nullopt;
  Blocks blocks;
  struct Open {
    int indent;
    uint32_t branch;
  };
  std::vector<Open> branches;  // that an else may go on with
  uint32_t next_branch = 0;
  for (size_t i = 0; i < lines->size(); ++i) {
    const LogicalLine& line = (*lines)[i];
    std::erase_if(branches, [&](const Open& open) { return open.indent > line.indent; });
    std::string_view code = line.code;
    if (code.starts_with("async ")) code = Trim(code.substr(6));
    const std::string_view word = FirstWord(code);
    const bool loop = word == "for" || word == "while";
    const bool goes_on = word == "else" || word == "elif";
    if (!goes_on) std::erase_if(branches, [&](const Open& o) { return o.indent == line.indent; });
    if (line.comprehension) blocks.push_back({.first = line.first, .last = line.last});
    if (!loop && !goes_on && word != "if") continue;
    SourceBlock block{.kind = loop ? BlockKind::kLoop : BlockKind::kArm, .first = line.first};
    block.last = line.last;
    for (size_t j = i + 1; j < lines->size() && (*lines)[j].indent > line.indent; ++j) {
      block.last = (*lines)[j].last;
    }
    if (!loop) {
      // The else of a loop, of a try, goes on with no branch.
      if (goes_on && (branches.empty() || branches.back().indent != line.indent)) continue;
      if (!goes_on) branches.push_back({line.indent, next_branch++});
      block.branch = branches.back().branch;
      code.remove_prefix(word.size());
      if (!goes_on) SetCondition(code.substr(0, code.find(':')), &block);
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

// --- Fortran ----------------------------------------------------------------------------------

// Without comments and the insides of strings, in lower case.
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
  return Lower(Trim(code));
}

std::string WithoutBlanks(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (!IsBlank(c)) result += c;
  }
  return result;
}

std::optional<Blocks> BlocksByEnds(std::string_view text) {
  const std::string code = WithoutDirectives(text);
  Blocks blocks;
  struct Open {
    bool loop;
    int first;
    uint32_t branch;
    std::string condition;
  };
  std::vector<Open> open;
  uint32_t branches = 0;
  int line = 0;
  int begins = 0;
  std::string statement;  // with the lines that an '&' joins
  const auto close = [&](int last) {
    SourceBlock block{.first = open.back().first, .last = last, .branch = open.back().branch};
    block.kind = open.back().loop ? BlockKind::kLoop : BlockKind::kArm;
    if (!open.back().loop) SetCondition(open.back().condition, &block);
    blocks.push_back(std::move(block));
  };
  for (std::string_view rest = code; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string part = FortranCode(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++line;
    if (part.empty()) continue;
    if (statement.empty()) begins = line;
    if (part.starts_with('&')) part.erase(0, 1);
    const bool goes_on = part.ends_with('&');
    if (goes_on) part.pop_back();
    statement += part;
    if (goes_on) continue;
    std::string_view said = statement;
    // "outer: do i = 1, n"
    const std::string_view name = FirstWord(said);
    const std::string_view behind = Trim(said.substr(name.size()));
    if (behind.starts_with(':') && !behind.starts_with("::")) said = Trim(behind.substr(1));
    const std::string packed = WithoutBlanks(said);
    const std::string_view word = FirstWord(said);
    if (word == "do" && packed.find('=') != 2) {
      if (packed.size() > 2 && std::isdigit(static_cast<unsigned char>(packed[2])) != 0) {
        return std::nullopt;  // ends at a label
      }
      open.push_back({true, begins, 0, ""});
    } else if (packed.starts_with("if(") && packed.ends_with(")then")) {
      open.push_back({false, begins, branches++, packed.substr(2, packed.size() - 6)});
    } else if (packed == "else" || packed.starts_with("elseif(")) {
      if (open.empty() || open.back().loop) return std::nullopt;
      close(begins - 1);
      open.back().first = begins;
      open.back().condition.clear();
    } else if (packed.starts_with("enddo") || packed.starts_with("endif")) {
      if (open.empty() || open.back().loop != packed.starts_with("enddo")) return std::nullopt;
      close(line);
      open.pop_back();
    }
    statement.clear();
  }
  if (!open.empty()) return std::nullopt;
  return blocks;
}

}  // namespace

std::optional<SourceSyntax> SyntaxOf(std::string_view file) {
  const size_t dot = file.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string end = Lower(file.substr(dot + 1));
  constexpr std::string_view kBraces[] = {"c",   "cc",  "cpp", "cxx", "c++", "h",   "hh",
                                          "hpp", "hxx", "cu",  "cuh", "inl", "ipp", "tcc"};
  constexpr std::string_view kFortran[] = {"f90", "f95", "f03", "f08", "f18"};
  const auto is = [&end](std::string_view one) { return one == end; };
  if (std::any_of(std::begin(kBraces), std::end(kBraces), is)) return SourceSyntax::kBraces;
  if (std::any_of(std::begin(kFortran), std::end(kFortran), is)) return SourceSyntax::kFortran;
  if (end == "py") return SourceSyntax::kPython;
  return std::nullopt;
}

std::optional<Blocks> FindSourceBlocks(std::string_view text, SourceSyntax syntax) {
  switch (syntax) {
    case SourceSyntax::kBraces:
      return BlocksByBraces(text);
    case SourceSyntax::kPython:
      return BlocksByIndentation(text);
    case SourceSyntax::kFortran:
      return BlocksByEnds(text);
  }
  return std::nullopt;
}

std::optional<Blocks> ReadSourceBlocks(const std::string& file) {
  const std::optional<SourceSyntax> syntax = SyntaxOf(file);
  if (!syntax) return std::nullopt;
  int64_t modified_ns = 0;
  std::string error;
  const std::optional<std::string> text =
      ReadSourceText(file, kMaxSourceBytes, &modified_ns, &error);
  return text ? FindSourceBlocks(*text, *syntax) : std::nullopt;
}

}  // namespace rollcall
