// The verdict for a person.
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
  kUser,  // Python call paths: the user's own frames, the others folded
  kFull,  // all frames of all call paths
};

struct TextOptions {
  bool color = false;  // ANSI escapes
  StackDetail stacks = StackDetail::kUser;
  // Gives the lines of a file around the marked ones; unset: no excerpts. ReadSourceExcerpt() fits;
  // tests inject their own. Called during RenderText() only, on its thread.
  std::function<SourceExcerpt(const std::string& file, const std::vector<int>& marked_lines)>
      excerpt;
};

// "none", "user", "full", as options are written; anything else is kUser.
StackDetail StackDetailOf(std::string_view name);

// UTF-8 that ends in a line break. Pure but for options.excerpt.
std::string RenderText(const Trace& trace, const Report& report, const TextOptions& options = {});

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_TEXT_REPORT_H_
