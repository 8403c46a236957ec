// SPDX-License-Identifier: Apache-2.0
#include "collector/base/print_line.h"

#include <unistd.h>

#include <cerrno>
#include <string>

namespace rollcall {

void PrintLine(std::string_view line) {
  // fmt::print() would throw if the write fails.
  WriteAll(STDERR_FILENO, "rollcall: " + std::string(line) + "\n");
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace rollcall
