// SPDX-License-Identifier: Apache-2.0
#include "collector/base/byte_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rollcall {

uint64_t FileSource::Size() {
  struct stat status;
  if (fstat(fd_, &status) != 0 || status.st_size < 0) return 0;
  return std::clamp(static_cast<uint64_t>(status.st_size), begin_, end_) - begin_;
}

size_t FileSource::Read(uint64_t offset, void* to, size_t size) {
  if (offset >= end_ - begin_) return 0;
  size = std::min(size, end_ - begin_ - offset);
  size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(fd_, static_cast<char*>(to) + done, size - done,
                              static_cast<off_t>(begin_ + offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

size_t MemorySource::Read(uint64_t offset, void* to, size_t size) {
  if (offset >= bytes_.size() || size == 0) return 0;  // memcpy() needs a valid pointer for 0 bytes
  const size_t count = std::min<uint64_t>(size, bytes_.size() - offset);
  std::memcpy(to, bytes_.data() + offset, count);
  return count;
}

}  // namespace rollcall
