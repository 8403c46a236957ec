// SPDX-License-Identifier: Apache-2.0
// Any bytes as a line table of any version: nothing may crash or loop, and no line is negative.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "collector/symbolize/python_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  struct {
    uint32_t first_line;
    uint32_t offset;
  } input;
  if (size < 1 + sizeof(input)) return 0;
  const uint32_t version = 3u << 8 | (8 + data[0] % 7);
  std::memcpy(&input, data + 1, sizeof(input));
  const std::string_view table(reinterpret_cast<const char*>(data) + 1 + sizeof(input),
                               size - 1 - sizeof(input));
  if (rollcall::PythonLine(version, table, input.first_line, input.offset) < 0) std::abort();
  return 0;
}
