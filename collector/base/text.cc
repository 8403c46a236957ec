// SPDX-License-Identifier: Apache-2.0
#include "collector/base/text.h"

#include <algorithm>
#include <cstdint>

namespace rollcall {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

// Length of the well-formed UTF-8 sequence at the start of `text` (Unicode 15, table 3-7), or 0.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  size_t length = 0;
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;  // surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

bool IsControl(std::string_view character) {
  const auto lead = static_cast<uint8_t>(character[0]);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  // C1 controls (U+0080 to U+009F): some terminals take U+009B as the start of an escape sequence.
  if (lead == 0xC2) return static_cast<uint8_t>(character[1]) < 0xA0;
  if (lead != 0xE2) return false;
  // Bidirectional overrides and isolates can make a line look different from its content.
  const auto second = static_cast<uint8_t>(character[1]);
  const auto third = static_cast<uint8_t>(character[2]);
  return (second == 0x80 && third >= 0xA8 && third <= 0xAE) ||
         (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

}  // namespace

std::string CleanText(std::string_view raw, size_t max_bytes, size_t tab_width) {
  std::string out;
  size_t column = 0;
  while (!raw.empty()) {
    if (raw[0] == '\t' && tab_width != 0) {
      const size_t spaces = tab_width - column % tab_width;
      if (out.size() + spaces + kEllipsis.size() > max_bytes) break;
      out.append(spaces, ' ');
      column += spaces;
      raw.remove_prefix(1);
      continue;
    }
    const size_t length = SequenceLength(raw);
    const std::string_view character = raw.substr(0, length == 0 ? 1 : length);
    const std::string_view safe = length == 0 || IsControl(character) ? kReplacement : character;
    // Reserve room for the ellipsis unless this is the last character.
    const bool last = character.size() == raw.size();
    if (out.size() + safe.size() + (last ? 0 : kEllipsis.size()) > max_bytes) break;
    out += safe;
    ++column;
    raw.remove_prefix(character.size());
  }
  if (!raw.empty() && max_bytes >= kEllipsis.size()) out += kEllipsis;
  return out;
}

std::string ToHex(const void* bytes, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(size * 2);
  for (const auto* p = static_cast<const uint8_t*>(bytes); size > 0; ++p, --size) {
    hex += kDigits[*p >> 4];
    hex += kDigits[*p & 0xF];
  }
  return hex;
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view Trim(std::string_view text, std::string_view blanks) {
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

std::string_view TakeUntil(char end, std::string_view* rest) {
  const std::string_view taken = rest->substr(0, rest->find(end));
  rest->remove_prefix(std::min(taken.size() + 1, rest->size()));
  return taken;
}

}  // namespace rollcall
