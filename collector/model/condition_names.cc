// SPDX-License-Identifier: Apache-2.0
#include "collector/model/condition_names.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "collector/model/words.h"

namespace rollcall {
namespace {

// Words that are no variables. Those of Fortran stand between dots (".and.").
constexpr std::string_view kKeywords[] = {
    "and",    "or",        "not",      "in",     "is",     "if",       "else",    "for",  "lambda",
    "await",  "None",      "True",     "False",  "true",   "false",    "nullptr", "NULL", "case",
    "const",  "auto",      "int",      "long",   "bool",   "unsigned", "signed",  "char", "float",
    "double", "constexpr", "co_await", "sizeof", "struct", "integer",  "logical", "then"};
constexpr std::string_view kDotted[] = {"and", "or", "not", "eq",   "ne",   "lt",   "le",
                                        "gt",  "ge", "eqv", "neqv", "true", "false"};
// Functions that only convert or measure their arguments, or objects: their result differs only if
// an argument does.
constexpr std::string_view kPlainCalls[] = {
    "len",   "size",  "empty",     "length",  "range",       "enumerate", "int",    "bool",
    "float", "abs",   "min",       "max",     "isinstance",  "zip",       "sorted", "reversed",
    "list",  "tuple", "mod",       "present", "associated",  "allocated", "any",    "all",
    "load",  "value", "has_value", "fabs",    "static_cast", "defined",   "str",    "repr"};

bool IsOneOf(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != std::end(words);
}

bool BeginsName(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Scanner {
 public:
  Scanner(std::string_view text, bool fortran, ConditionNames* names)
      : text_(text), fortran_(fortran), names_(*names) {}

  void Scan() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        SkipLiteral(c);
      } else if (Follows("/*")) {
        at_ = std::min(text_.find("*/", at_ + 2), text_.size() - 2) + 2;
      } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
        while (at_ < text_.size() && IsWordChar(text_[at_])) ++at_;
        // "1." is a number, "1.and." is not.
        if (Follows(".") && !DottedAt(at_)) ++at_;
      } else if (fortran_ && DottedAt(at_)) {
        at_ = text_.find('.', at_ + 1) + 1;
      } else if (BeginsName(c)) {
        Name();
      } else {
        ++at_;
      }
    }
  }

 private:
  bool Follows(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void SkipLiteral(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) at_ += text_[at_] == '\\';
    ++at_;
  }

  size_t AfterBlanks(size_t at) const {
    while (at < text_.size() && text_[at] == ' ') ++at;
    return at;
  }

  std::string_view WordAt(size_t at) const {
    size_t end = at;
    while (end < text_.size() && IsWordChar(text_[end])) ++end;
    return text_.substr(at, end - at);
  }

  // Whether ".and." or another operator of Fortran begins here.
  bool DottedAt(size_t at) const {
    if (!fortran_ || at >= text_.size() || text_[at] != '.') return false;
    const std::string_view word = WordAt(at + 1);
    const size_t end = at + 1 + word.size();
    return end < text_.size() && text_[end] == '.' && IsOneOf(word, kDotted);
  }

  // Reads "a", "a.b->c" or "a%b". Stops before a call or an index.
  void Name() {
    // A member of what an index or a call returns is no name by itself.
    const std::string_view before = text_.substr(0, at_);
    const size_t last = before.find_last_not_of(' ');
    const bool member = last != std::string_view::npos &&
                        (before[last] == '.' || (fortran_ && before[last] == '%') ||
                         before.substr(0, last + 1).ends_with("->")) &&
                        !AfterDotted(before.substr(0, last + 1));
    std::string path;
    std::string owner;      // the path without its last name
    std::string_view word;  // the last name
    for (;;) {
      word = WordAt(at_);
      path += word;
      at_ += word.size();
      const size_t next = AfterBlanks(at_);
      std::string_view joint;
      for (const std::string_view one : {"->", "::", ".", "%"}) {
        if (text_.substr(next).starts_with(one) && fortran_ == (one == "%")) joint = one;
      }
      if (joint.empty()) break;
      const size_t name = AfterBlanks(next + joint.size());
      if (name >= text_.size() || !BeginsName(text_[name])) break;
      owner = path;
      path += joint;
      at_ = name;
    }
    if (Follows("…")) return;  // it was cut
    if (member) return;
    const size_t next = AfterBlanks(at_);
    // An element is tested, not its array.
    if (next < text_.size() && text_[next] == '[') return;
    const bool called = next < text_.size() && text_[next] == '(';
    const bool cast = next < text_.size() && text_[next] == '<' && word.ends_with("_cast");
    if (cast) {
      at_ = std::min(text_.find('>', next), text_.size());
    } else if (!called) {
      if (!IsOneOf(path, kKeywords) && path != "self" && path != "this")
        Add(path, &names_.variables);
    } else if (IsOneOf(word, kKeywords) || IsOneOf(word, kPlainCalls)) {
      if (!owner.empty() && owner != "std" && owner != "self") Add(owner, &names_.variables);
    } else if (!fortran_) {
      Add(path + "()", &names_.calls);
    }
  }

  static bool AfterDotted(std::string_view before) {
    before.remove_suffix(1);
    const size_t dot = before.rfind('.');
    return dot != std::string_view::npos && IsOneOf(before.substr(dot + 1), kDotted);
  }

  static void Add(std::string name, std::vector<std::string>* to) {
    if (std::ranges::find(*to, name) == to->end()) to->push_back(std::move(name));
  }

  std::string_view text_;
  const bool fortran_;
  ConditionNames& names_;
  size_t at_ = 0;
};

}  // namespace

bool IsFortran(std::string_view file) {
  const std::string_view suffix = file.substr(file.rfind('.') + 1);
  return suffix.starts_with('f') || suffix.starts_with('F');
}

void AddConditionNames(std::string_view condition, bool fortran, ConditionNames* names) {
  Scanner(condition, fortran, names).Scan();
}

}  // namespace rollcall
