// SPDX-License-Identifier: Apache-2.0
// Finds names in source text.
#ifndef ROLLCALL_COLLECTOR_MODEL_WORDS_H_
#define ROLLCALL_COLLECTOR_MODEL_WORDS_H_

#include <cctype>
#include <cstddef>
#include <string_view>

namespace rollcall {

inline bool IsWordChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Returns whether `matches(at)` holds at a place where `word` stands in `text` and is not a part of
// a longer word. `word` must not be empty.
template <typename Matches>
bool AnyWord(std::string_view text, std::string_view word, Matches matches) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !IsWordChar(text[at - 1]);
    const bool ends = end == text.size() || !IsWordChar(text[end]);
    if (begins && ends && matches(at)) return true;
  }
  return false;
}

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_WORDS_H_
