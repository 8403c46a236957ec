// Blocks of Fortran.
#include <algorithm>
#include <utility>

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
  return Lower(Trim(code));
}

std::string WithoutBlanks(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (!IsBlank(c)) result += c;
  }
  return result;
}

}  // namespace

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
  std::string statement;  // with the lines that '&' joins to it
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

}  // namespace rollcall::source_languages
