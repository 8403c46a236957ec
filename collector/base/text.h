// SPDX-License-Identifier: Apache-2.0
// Reads strings from untrusted files, and makes them safe to print and to put into JSON.
#ifndef ROLLCALL_COLLECTOR_BASE_TEXT_H_
#define ROLLCALL_COLLECTOR_BASE_TEXT_H_

#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace rollcall {

// `raw` as valid UTF-8 of at most `max_bytes` (cut at a character, marked by U+2026). Malformed
// bytes become U+FFFD, and so do control characters, which could drive the reader's terminal. Tabs
// are expanded to stops of `tab_width` columns; with 0, a tab is treated like any control
// character.
std::string CleanText(std::string_view raw, size_t max_bytes, size_t tab_width = 0);

// Lower-case hexadecimal of `size` bytes at `bytes`.
std::string ToHex(const void* bytes, size_t size);

// The letters of ASCII in lower case.
std::string ToLower(std::string_view text);

// The text without blanks at its ends.
std::string_view Trim(std::string_view text, std::string_view blanks = " \t\r");

// Removes the beginning of `*rest` up to the first `end`, and `end` itself, and returns it without
// `end`. Without an `end`, takes all of `*rest`.
std::string_view TakeUntil(char end, std::string_view* rest);

// The number that the whole text is. Empty for other text, and if T cannot hold the number.
template <std::integral T>
std::optional<T> ParseNumber(std::string_view text, int base = 10) {
  T number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_TEXT_H_
