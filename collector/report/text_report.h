// SPDX-License-Identifier: Apache-2.0
// The verdict as text.
#ifndef ROLLCALL_COLLECTOR_REPORT_TEXT_REPORT_H_
#define ROLLCALL_COLLECTOR_REPORT_TEXT_REPORT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"
#include "collector/symbolize/source_excerpt.h"

namespace rollcall {

enum class StackDetail : uint8_t {
  kNone,
  kUser,  // Python call paths: user frames shown, others folded
  kFull,  // all frames of all call paths
};

struct TextOptions {
  bool color = false;  // ANSI escapes
  StackDetail stacks = StackDetail::kUser;
  // Returns the lines of a file around the marked lines; unset: no excerpts. ReadSourceExcerpt()
  // has this signature; tests inject their own function. Called only during RenderText(), on its
  // thread.
  std::function<SourceExcerpt(const std::string& file, const std::vector<int>& marked_lines)>
      excerpt;
};

// Parses the option values "none", "user" and "full"; any other value is kUser.
StackDetail StackDetailOf(std::string_view name);

// Returns UTF-8 text that ends with a newline. Pure except for options.excerpt.
std::string RenderText(const Trace& trace, const Report& report, const TextOptions& options = {});

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_TEXT_REPORT_H_
