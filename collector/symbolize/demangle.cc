// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace rollcall {
namespace {

// Longer names exist (expression templates) but are unreadable, and the demangler's time and memory
// can grow faster than its input.
constexpr size_t kMaxMangledBytes = 8192;
constexpr size_t kMaxTemplateArgumentBytes = 24;

// Returns the index after the bracket that closes the bracket at `open`, or npos. '<' and '>' count
// as brackets only if `open` is '<'. The '>' of "->" never counts.
size_t SkipBalanced(std::string_view text, size_t open) {
  const bool angle = text[open] == '<';
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    switch (text[i]) {
      case '(':
      case '{':
      case '[':
        ++depth;
        break;
      case ')':
      case '}':
      case ']':
        --depth;
        break;
      case '<':
        if (angle) ++depth;
        break;
      case '>':
        if (angle && text[i - 1] != '-') --depth;
        break;
      default:
        break;
    }
    if (depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

// Removes what may follow a parameter list in a declarator, such as cv- and ref-qualifiers.
std::string_view SkipQualifiers(std::string_view rest) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view qualifier : {" const", " volatile", " &&", " &", " noexcept"}) {
      if (!rest.starts_with(qualifier)) continue;
      rest.remove_prefix(qualifier.size());
      again = true;
    }
  }
  return rest;
}

// "{lambda(int)#1}" -> "{lambda#1}"
std::string ShortenBraces(std::string_view braces) {
  const size_t open = braces.find('(');
  if (open == std::string_view::npos) return std::string(braces);
  const size_t end = SkipBalanced(braces, open);
  if (end == std::string_view::npos) return std::string(braces);
  return std::string(braces.substr(0, open)).append(braces.substr(end));
}

constexpr std::string_view kOperator = "operator";

// Length of the punctuation of an operator's name at the start of `rest`, which follows "operator".
size_t OperatorPunctuation(std::string_view rest) {
  for (const std::string_view name :
       {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"}) {
    if (rest.starts_with(name)) return name.size();
  }
  return 0;
}

bool EndsWithOperator(std::string_view out) {
  if (!out.ends_with(kOperator)) return false;
  if (out.size() == kOperator.size()) return true;
  const char before = out[out.size() - kOperator.size() - 1];
  return before == ':' || before == ' ';
}

}  // namespace

std::string ShortenCxxName(std::string_view name) {
  std::string out;
  bool conversion = false;  // inside "operator TYPE", whose spaces belong to the name
  for (size_t i = 0; i < name.size();) {
    const std::string_view rest = name.substr(i);
    if (EndsWithOperator(out)) {
      if (const size_t length = OperatorPunctuation(rest); length > 0) {
        out += rest.substr(0, length);
        i += length;
        continue;
      }
      conversion = rest[0] == ' ';
    }
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    if (rest.starts_with(kAnonymous)) {
      out += kAnonymous;
      i += kAnonymous.size();
      continue;
    }
    const char c = rest[0];
    if (c == '<' || c == '{' || c == '(') {
      const size_t end = SkipBalanced(rest, 0);
      // A function that returns a pointer to a function, or an unknown form: keep the long name.
      if (end == std::string_view::npos || rest.starts_with("(*") || rest.starts_with("(&")) {
        return std::string(name);
      }
      if (c == '{') {
        out += ShortenBraces(rest.substr(0, end));
      } else if (c == '<') {
        // "<lambda(int)>" is a name; the argument list of a template follows one.
        const bool long_arguments =
            !out.empty() && !out.ends_with("::") && end > kMaxTemplateArgumentBytes;
        out += long_arguments ? std::string_view("<\xE2\x80\xA6>") : rest.substr(0, end);
      } else {
        // A parameter list ends the name, unless it belongs to the enclosing function of a local
        // entity, or to the "decltype (…)" of a return type.
        const std::string_view after = SkipQualifiers(rest.substr(end));
        if (after.empty() || after.starts_with(" [clone")) return out;
        conversion = false;
        i = name.size() - after.size();
        continue;
      }
      i += end;
      continue;
    }
    if (c == ' ' && !conversion) {
      if (rest.starts_with(" <")) {  // "operator< <int>": no return type ends before this space
        out += c;
        ++i;
        continue;
      }
      if (rest.starts_with(" [clone")) return out;
      out.clear();  // that was a return type, or "virtual thunk to"
    } else {
      out += c;
    }
    ++i;
  }
  return out.empty() ? std::string(name) : out;
}

std::string Demangle(std::string_view symbol, NameStyle style) {
  if (!symbol.starts_with("_Z") || symbol.size() > kMaxMangledBytes) return std::string(symbol);
  std::string terminated(symbol);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(terminated.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || demangled == nullptr) return terminated;
  return style == NameStyle::kShort ? ShortenCxxName(demangled.get()) : demangled.get();
}

std::string FortranName(std::string_view symbol) {
  const auto lower = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  // A contained procedure has a number after its name.
  if (const size_t dot = symbol.rfind('.');
      dot != std::string_view::npos && dot + 1 < symbol.size() &&
      std::all_of(symbol.begin() + static_cast<std::ptrdiff_t>(dot) + 1, symbol.end(),
                  [](char c) { return c >= '0' && c <= '9'; })) {
    symbol = symbol.substr(0, dot);
  }
  constexpr std::string_view kModule = "_MOD_";
  if (const size_t at = symbol.find(kModule);
      symbol.starts_with("__") && at != std::string_view::npos && at > 2) {
    return std::string(symbol.substr(2, at - 2))
        .append("::")
        .append(symbol.substr(at + kModule.size()));
  }
  if (symbol.size() > 1 && symbol.back() == '_' && symbol.front() != '_' &&
      std::ranges::all_of(symbol, lower)) {
    symbol.remove_suffix(1);
  }
  return std::string(symbol);
}

}  // namespace rollcall
