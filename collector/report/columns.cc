// SPDX-License-Identifier: Apache-2.0
#include "collector/report/columns.h"

#include <algorithm>
#include <utility>

namespace rollcall {

namespace {

// UTF-8 continuation bytes take no column.
bool TakesColumn(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

size_t Width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, TakesColumn));
}

std::string Cut(std::string text, size_t width) {
  if (Width(text) <= width) return text;
  size_t end = 0;
  for (size_t used = 0; end < text.size(); ++end) {
    if (TakesColumn(text[end]) && ++used >= width) break;
  }
  text.resize(end);
  return width == 0 ? text : text.append("…");
}

std::string Padded(std::string text, size_t width) {
  const size_t used = Width(text);
  if (used < width) text.append(width - used, ' ');
  return text;
}

std::vector<std::string> AlignColumns(const std::vector<std::vector<std::string>>& rows,
                                      bool keep_empty) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::vector<std::string> lines;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (widths[i] != 0 || keep_empty) line += Padded(row[i], widths[i] + 3);
    }
    line.resize(line.find_last_not_of(' ') + 1);  // npos + 1 is 0
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace rollcall
