// What rollcall says itself, on stderr.
#ifndef ROLLCALL_COLLECTOR_BASE_PRINT_LINE_H_
#define ROLLCALL_COLLECTOR_BASE_PRINT_LINE_H_

#include <string_view>

namespace rollcall {

// One line, "rollcall: …". Never throws, from any thread: where nobody reads stderr any more (it is
// closed, a full disk, the end of a pipe) the line is lost, and whatever was to be done next is
// done.
void PrintLine(std::string_view line);

// Likewise, text as it is, on any descriptor.
void WriteAll(int fd, std::string_view text);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_PRINT_LINE_H_
