// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/source_excerpt.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "collector/base/byte_source.h"
#include "collector/base/file.h"
#include "collector/base/text.h"

namespace rollcall {
namespace {

constexpr size_t kTabWidth = 8;
constexpr int kMaxEnclosingDistance = 200;  // lines
constexpr int kMaxEnclosingLevels = 3;

std::vector<std::string_view> SplitLines(std::string_view content) {
  std::vector<std::string_view> lines;
  while (!content.empty()) {
    std::string_view line = TakeUntil('\n', &content);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
  }
  return lines;
}

// The number of columns of leading white space; -1 for a blank line.
int Indentation(std::string_view line) {
  size_t column = 0;
  for (const char c : line) {
    if (c == ' ') {
      ++column;
    } else if (c == '\t') {
      column += kTabWidth - column % kTabWidth;
    } else {
      return static_cast<int>(column);
    }
  }
  return -1;
}

// Whether `line` opens a branch or a loop in C, C++, Fortran or Python.
bool OpensBlock(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t}"), line.size()));
  std::string word;
  for (const char c : line) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) break;
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  static constexpr std::string_view kWords[] = {
      "if",      "else",   "elif", "elseif", "for",   "while",   "do",   "switch", "case",
      "default", "select", "try",  "except", "catch", "finally", "with", "match"};
  return std::ranges::find(kWords, word) != std::end(kWords);
}

// Indices of the control lines that enclose line `index`, nearest first.
std::vector<int> EnclosingControl(const std::vector<std::string_view>& lines, int index) {
  std::vector<int> found;
  int indent = Indentation(lines[index]);
  const int stop = std::max(0, index - kMaxEnclosingDistance);
  for (int i = index - 1; i >= stop && indent > 0; --i) {
    const int here = Indentation(lines[i]);
    // Labels and preprocessor lines are at the margin but enclose nothing.
    if (here < 0 || here >= indent || lines[i][0] == '#') continue;
    indent = here;
    if (!OpensBlock(lines[i])) continue;
    found.push_back(i);
    if (found.size() == kMaxEnclosingLevels) break;
  }
  return found;
}

}  // namespace

Result<SourceText> ReadSourceText(const std::string& file, size_t max_bytes) {
  const Result<RegularFile> opened = OpenRegularFile(file, max_bytes);
  if (!opened) return Error{"the source " + opened.error()};
  std::string text(opened->stamp.size, '\0');
  text.resize(FileSource(opened->fd.get()).Read(0, text.data(), text.size()));
  if (text.find('\0') != std::string::npos) return Error{"the source is not text"};
  return SourceText{std::move(text), opened->stamp.modified_ns};
}

SourceExcerpt ReadSourceExcerpt(const std::string& file, const std::vector<int>& marked_lines,
                                const ExcerptOptions& options) {
  SourceExcerpt excerpt;
  excerpt.file = file;
  const Result<SourceText> source = ReadSourceText(file, options.max_file_bytes);
  excerpt.error = source.error();
  if (!source) return excerpt;
  excerpt.modified_ns = source->modified_ns;
  const std::vector<std::string_view> lines = SplitLines(source->text);
  const int count = static_cast<int>(lines.size());

  std::map<int, bool> shown;  // index -> marked
  for (const int line_no : marked_lines) {
    if (line_no < 1 || line_no > count) continue;
    const int index = line_no - 1;
    shown[index] = true;
    const int first = std::max(0, index - options.context_before);
    const int last = std::min(count - 1, index + options.context_after);
    for (int i = first; i <= last; ++i) {
      if (Indentation(lines[i]) >= 0) shown.try_emplace(i, false);
    }
    if (!options.enclosing) continue;
    for (const int i : EnclosingControl(lines, index)) shown.try_emplace(i, false);
  }
  if (shown.empty()) {
    excerpt.error = "the source has fewer lines than the debug information: it has changed";
    return excerpt;
  }
  for (const auto& [index, marked] : shown) {
    excerpt.lines.push_back({.line_no = index + 1,
                             .text = CleanText(lines[index], options.max_line_bytes, kTabWidth),
                             .marked = marked});
  }
  return excerpt;
}

}  // namespace rollcall
