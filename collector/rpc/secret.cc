// SPDX-License-Identifier: Apache-2.0
#include "collector/rpc/secret.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <cstddef>
#include <cstdlib>

#include "proto/environment.h"

namespace rollcall::rpc {

std::string NewToken() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) return "";
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string GivenToken() {
  const char* given = getenv(env::kToken);
  return given == nullptr ? "" : given;
}

bool SameSecret(std::string_view a, std::string_view b) {
  if (a.empty() || a.size() != b.size()) return false;  // the length is not secret
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<unsigned char>(
        difference | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
  }
  return difference == 0;
}

}  // namespace rollcall::rpc
