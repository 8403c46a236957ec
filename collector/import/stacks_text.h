// SPDX-License-Identifier: Apache-2.0
// A text of `rollcall attach`. It is found among the inputs here, and read by a higher layer,
// collector/attach (stacks.md).
#ifndef ROLLCALL_COLLECTOR_IMPORT_STACKS_TEXT_H_
#define ROLLCALL_COLLECTOR_IMPORT_STACKS_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace rollcall {

inline constexpr std::string_view kStacksFormat = "rollcall-stacks";
// the beginning of each
inline constexpr std::string_view kStacksBegin = "{\"format\":\"rollcall-stacks\"";
inline constexpr char kStacksName[] = "stacks.jsonl";  // in a bundle: one for each host

struct StacksText {
  std::string source;  // for messages
  std::string text;
};

// Limit of all texts of one load.
inline constexpr size_t kMaxStacksTextBytes = 256 << 20;

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_STACKS_TEXT_H_
