// Text in columns.
#ifndef ROLLCALL_COLLECTOR_REPORT_COLUMNS_H_
#define ROLLCALL_COLLECTOR_REPORT_COLUMNS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall {

// Columns that UTF-8 text takes: characters, not bytes.
size_t Width(std::string_view text);

// With spaces to at least `width` columns.
std::string Padded(std::string text, size_t width);

// Rows of equally many cells, as lines without trailing spaces: each column as wide as its widest
// cell, three spaces between two that are not empty in all rows.
std::vector<std::string> AlignColumns(const std::vector<std::vector<std::string>>& rows);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_COLUMNS_H_
