#include "collector/agent/ring_copy.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "collector/import/ring_image.h"

namespace rollcall::agent {

bool CopyRing(int fd, const std::string& directory, const std::string& name) {
  FileSource source(fd);
  const RingImage image = TakeImage(source, name);
  if (!image.usable) return false;
  const std::vector<uint8_t> bytes = PackImage(image);
  // Under another name until it is whole: readers take every *.ring for a ring.
  const std::string partial = directory + "/" + name + ".partial";
  std::error_code error;
  const auto flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  int out = open(partial.c_str(), flags, 0600);
  if (out < 0 && errno == ENOENT) {
    mkdir(std::filesystem::path(directory).parent_path().c_str(), 0700);
    mkdir(directory.c_str(), 0700);
    out = open(partial.c_str(), flags, 0600);
  }
  if (out < 0) return false;
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = write(out, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<size_t>(n);
  }
  const bool whole = close(out) == 0 && written == bytes.size() &&
                     rename(partial.c_str(), (directory + "/" + name).c_str()) == 0;
  if (!whole) unlink(partial.c_str());
  return whole;
}

}  // namespace rollcall::agent
