// SPDX-License-Identifier: Apache-2.0
// rollcall's own messages, on stderr.
#ifndef ROLLCALL_COLLECTOR_BASE_PRINT_LINE_H_
#define ROLLCALL_COLLECTOR_BASE_PRINT_LINE_H_

#include <string_view>

namespace rollcall {

// Prints one line, "rollcall: …". Never throws; safe from any thread. If stderr cannot be written
// (closed, a full disk, the reader of a pipe has ended), the line is lost and the caller continues.
void PrintLine(std::string_view line);

// Writes the text unchanged to any descriptor. False, with errno, if not all is written.
bool WriteAll(int fd, std::string_view text);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_PRINT_LINE_H_
