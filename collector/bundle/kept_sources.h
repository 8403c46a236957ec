// SPDX-License-Identifier: Apache-2.0
// Source lines in a bundle: the lines that a report can show on a machine without the sources.
#ifndef ROLLCALL_COLLECTOR_BUNDLE_KEPT_SOURCES_H_
#define ROLLCALL_COLLECTOR_BUNDLE_KEPT_SOURCES_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/symbolize/source_excerpt.h"

namespace rollcall {

// Holds, for each line in a call path, the excerpt that ReadSourceExcerpt() returned. The excerpt
// of several lines is the union of their excerpts. Not thread-safe while it is filled.
class KeptSources {
 public:
  // Reads the source; unreadable sources are skipped. Lines beyond kMaxBytes are left out.
  void Keep(const std::string& file, int line);

  // One JSON object per line of text, for each file.
  std::string Format() const;
  // Adds the lines in `text`. Damaged lines are left out; strings are cleaned for terminals. False
  // if any was damaged.
  bool Parse(std::string_view text);

  // From the kept lines, otherwise from the file itself.
  SourceExcerpt Excerpt(const std::string& file, const std::vector<int>& marked_lines) const;

  bool empty() const { return files_.empty(); }

  static constexpr size_t kMaxBytes = 16 << 20;

 private:
  struct File {
    int64_t modified_ns = 0;
    std::map<int, std::string> text;        // by line number
    std::map<int, std::vector<int>> shown;  // the lines shown for a marked one
  };
  std::map<std::string, File> files_;
  size_t bytes_ = 0;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BUNDLE_KEPT_SOURCES_H_
