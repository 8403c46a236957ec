// SPDX-License-Identifier: Apache-2.0
// Text in columns.
#ifndef ROLLCALL_COLLECTOR_REPORT_COLUMNS_H_
#define ROLLCALL_COLLECTOR_REPORT_COLUMNS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

// The number of columns of UTF-8 text: characters, not bytes.
size_t Width(std::string_view text);

// The text if it has at most `width` columns; else its beginning with "…", in `width` columns.
std::string Cut(std::string text, size_t width);

// Pads `text` with spaces to at least `width` columns.
std::string Padded(std::string text, size_t width);

// Formats rows with the same number of cells as lines without trailing spaces. Each column is as
// wide as its widest cell; three spaces separate columns. A column that is empty in all rows is
// left out unless `keep_empty`.
std::vector<std::string> AlignColumns(const std::vector<std::vector<std::string>>& rows,
                                      bool keep_empty = false);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_COLUMNS_H_
