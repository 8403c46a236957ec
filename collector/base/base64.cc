#include "collector/base/base64.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rollcall {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// -1: no digit.
int32_t ValueOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::string ToBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) {
      group = (group << 8) | (i < count ? static_cast<uint8_t>(bytes[at + i]) : 0U);
    }
    for (size_t i = 0; i < 4; ++i) {
      text += i <= count ? kDigits[(group >> (18 - 6 * i)) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    uint32_t group = 0;
    size_t digits = 0;
    for (; digits < 4 && at + digits < text.size(); ++digits) {
      const int32_t value = ValueOf(text[at + digits]);
      if (value < 0) break;
      group |= static_cast<uint32_t>(value) << (18 - 6 * digits);
    }
    for (size_t i = 0; i + 1 < digits; ++i) {
      bytes += static_cast<char>(static_cast<uint8_t>(group >> (16 - 8 * i)));
    }
  }
  // What is wrong with it, its bytes do not show: padding, digits behind it, bits that are lost.
  if (ToBase64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace rollcall
