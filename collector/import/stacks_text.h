// A text of what `rollcall attach` saw: found among the inputs here, and read by collector/attach
// (stacks.md), which is above.
#ifndef ROLLCALL_COLLECTOR_IMPORT_STACKS_TEXT_H_
#define ROLLCALL_COLLECTOR_IMPORT_STACKS_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace rollcall {

inline constexpr std::string_view kStacksFormat = "rollcall-stacks";
inline constexpr std::string_view kStacksBegin = "{\"format\":\"rollcall-stacks\"";  // of each
inline constexpr char kStacksName[] = "stacks.jsonl";  // in a bundle: one for each host

struct StacksText {
  std::string source;  // for messages
  std::string text;
};

// Of all texts of one load.
inline constexpr size_t kMaxStacksTextBytes = 256 << 20;

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_STACKS_TEXT_H_
