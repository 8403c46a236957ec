// SPDX-License-Identifier: Apache-2.0
#include "collector/base/proc_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "collector/base/file.h"
#include "collector/base/text.h"

namespace rollcall {

int ProcSource::Read(const std::string& path, std::string* content, size_t max_bytes) const {
  content->clear();
  const UniqueFd fd(open((root_ + path).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return errno;
  char buffer[16384];
  while (content->size() < max_bytes) {
    const size_t want = std::min(sizeof(buffer), max_bytes - content->size());
    const ssize_t got = read(fd.get(), buffer, want);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    content->append(buffer, static_cast<size_t>(got));
  }
  return 0;
}

int ProcSource::ListNumbers(const std::string& path, std::vector<int>* numbers) const {
  numbers->clear();
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir((root_ + path).c_str()), closedir);
  if (dir == nullptr) return errno;
  while (const dirent* entry = readdir(dir.get())) {
    const auto number = ParseNumber<int>(entry->d_name);
    if (number && *number > 0) numbers->push_back(*number);
  }
  std::ranges::sort(*numbers);
  return 0;
}

}  // namespace rollcall
