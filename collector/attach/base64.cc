// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/base64.h"

#include <openssl/evp.h>

#include <cstddef>

namespace rollcall::attach {

std::string ToBase64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with a null character
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  if (length < 0 || static_cast<size_t>(length) != bytes.size()) return std::nullopt;
  // EVP_DecodeBlock() counts padding as bytes.
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  bytes.resize(bytes.size() - padding);
  if (ToBase64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace rollcall::attach
