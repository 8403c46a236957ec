// SPDX-License-Identifier: Apache-2.0
// The source lines around the places that a verdict names.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_SOURCE_EXCERPT_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_SOURCE_EXCERPT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/base/result.h"

namespace rollcall {

struct ExcerptLine {
  int line_no = 0;   // 1-based
  std::string text;  // without the line break; tabs expanded; see CleanText()
  bool marked = false;
};

// Lines in increasing order. A gap in the numbers means omitted lines.
struct SourceExcerpt {
  std::string file;
  std::vector<ExcerptLine> lines;  // empty if there is an error
  std::string error;               // why there is nothing to show, for the user
  // When the source was last written, in ns since the epoch. If the source was written after the
  // program's start, the shown lines may not be the compiled ones.
  int64_t modified_ns = 0;
};

struct ExcerptOptions {
  int context_before = 1;  // lines shown before and after each marked one
  int context_after = 1;
  // Also show the lines of if, else, for, while, … that enclose a marked line: such a line may be
  // the one that divides the ranks. They are found by indentation, which is exact for Python and
  // good for formatted C, C++ and Fortran.
  bool enclosing = true;
  size_t max_file_bytes = 16 << 20;
  size_t max_line_bytes = 400;
};

struct SourceText {
  std::string text;
  int64_t modified_ns = 0;  // as in SourceExcerpt
};
// An error if `file` is not a regular file, too large or not text.
Result<SourceText> ReadSourceText(const std::string& file, size_t max_bytes);

// Reads `file` and shows `marked_lines` (in any order, duplicates allowed) with their context.
// Blank context lines are left out. Refuses files that are not regular, too large or not text, and
// lines that do not exist. No state; safe from any thread.
SourceExcerpt ReadSourceExcerpt(const std::string& file, const std::vector<int>& marked_lines,
                                const ExcerptOptions& options = {});

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_SOURCE_EXCERPT_H_
