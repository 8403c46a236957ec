// SPDX-License-Identifier: Apache-2.0
// Makes strings from untrusted files safe to print and to put into JSON.
#ifndef ROLLCALL_COLLECTOR_BASE_TEXT_H_
#define ROLLCALL_COLLECTOR_BASE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace rollcall {

// `raw` as valid UTF-8 of at most `max_bytes` (cut at a character, marked by U+2026). Malformed
// bytes become U+FFFD, and so do control characters, which could drive the reader's terminal. Tabs
// are expanded to stops of `tab_width` columns; with 0, a tab is treated like any control
// character.
std::string CleanText(std::string_view raw, size_t max_bytes, size_t tab_width = 0);

// Lower-case hexadecimal of `size` bytes at `bytes`.
std::string ToHex(const void* bytes, size_t size);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_TEXT_H_
