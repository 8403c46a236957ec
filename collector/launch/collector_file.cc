// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/collector_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/file.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

std::string PathIn(const std::string& run_directory) {
  return run_directory + "/" + kCollectorFile;
}

}  // namespace

bool WriteCollectorFile(const std::string& run_directory, const CollectorAccess& access) {
  RemoveCollectorFile(run_directory);
  const UniqueFd fd(open(PathIn(run_directory).c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  const std::string text = fmt::format("{}\n{}\n", access.address, access.token);
  return fd && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::optional<CollectorAccess> ReadCollectorFile(const std::string& run_directory) {
  const UniqueFd fd(
      open(PathIn(run_directory).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != geteuid() || (status.st_mode & 0077) != 0) {
    return std::nullopt;
  }
  char bytes[1024];
  const ssize_t size = read(fd.get(), bytes, sizeof(bytes));
  const std::string text(bytes, size > 0 ? static_cast<size_t>(size) : 0);
  const size_t first = text.find('\n');
  const size_t second = first == std::string::npos ? first : text.find('\n', first + 1);
  if (second == std::string::npos) return std::nullopt;
  return CollectorAccess{text.substr(0, first), text.substr(first + 1, second - first - 1)};
}

void RemoveCollectorFile(const std::string& run_directory) {
  unlink(PathIn(run_directory).c_str());
}

}  // namespace rollcall
