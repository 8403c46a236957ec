// SPDX-License-Identifier: Apache-2.0
// Reads written values as the shim reads a buffer (proto/ring_format.h, "The data of collectives").
#ifndef ROLLCALL_TESTS_SUPPORT_TRACE_DATA_H_
#define ROLLCALL_TESTS_SUPPORT_TRACE_DATA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/model/data.h"

namespace rollcall {

// The data of a call, as text: see tests/support/text_trace.md. Empty: none.
struct CallData {
  std::string input;
  std::string result;
  std::string input_blocks;  // separated by ';'
  std::string result_blocks;
  bool varies = false;  // the number of the call is added to every number
  bool sampled = false;
  bool unread = false;
  bool outside = false;     // outside --data-scope; also `unread`
  uint32_t unread_why = 0;  // bits: ring::Unread

  bool Any() const {
    return unread || !input.empty() || !result.empty() || !input_blocks.empty() ||
           !result_blocks.empty();
  }
};

// The bytes of values like "1,2.5x10,nan,x7fc00000,1..64" of a type; empty if the text is wrong.
std::optional<std::vector<uint8_t>> DataBytes(const std::string& text, TypeClass type, double add);

// A read of these bytes in a call with this number. `sampled`: of `sample` words, if there are
// more.
DataRead ReadBytes(const std::vector<uint8_t>& bytes, TypeClass type, uint64_t sequence,
                   bool sampled, uint64_t sample = ring::kSampledWords);

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_SUPPORT_TRACE_DATA_H_
