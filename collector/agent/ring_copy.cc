// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/ring_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <vector>

#include "collector/base/file.h"
#include "collector/base/print_line.h"
#include "collector/import/ring_image.h"
#include "proto/run_directory.h"

namespace rollcall::agent {

bool CopyRing(int fd, const std::string& directory, const std::string& name) {
  FileSource source(fd);
  const RingImage image = TakeImage(source, name);
  if (!image.usable) return false;
  const std::vector<uint8_t> bytes = PackImage(image);
  // The copy has another name until it is complete. Readers ignore that name.
  const std::string partial = directory + "/" + name + kPartialSuffix;
  std::error_code error;
  unlink(partial.c_str());  // of an agent that was killed
  const auto flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  int out = open(partial.c_str(), flags, 0600);
  if (out < 0 && errno == ENOENT) {
    mkdir(std::filesystem::path(directory).parent_path().c_str(), 0700);
    mkdir(directory.c_str(), 0700);
    out = open(partial.c_str(), flags, 0600);
  }
  if (out < 0) return false;
  const bool written = WriteAll(out, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const bool whole =
      close(out) == 0 && written && rename(partial.c_str(), (directory + "/" + name).c_str()) == 0;
  if (!whole) unlink(partial.c_str());
  return whole;
}

void FreeUnusedPages(int fd) {
  // `fd` is read-only, and its file may no longer have a name.
  const UniqueFd file(open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDWR | O_CLOEXEC));
  if (!file) return;
  static constexpr char kZeros[4096] = {};
  constexpr size_t kPage = sizeof(kZeros);
  std::vector<char> block(64 * kPage);
  off_t unused_from = 0;  // everything from there to `at` is zero
  off_t at = 0;
  const auto free_unused = [&] {
    if (at == unused_from) return;
    fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, unused_from,
              at - unused_from);
  };
  for (;;) {
    const ssize_t n = pread(file.get(), block.data(), block.size(), at);
    if (n <= 0) break;
    for (size_t in_block = 0; in_block < static_cast<size_t>(n); in_block += kPage) {
      const size_t size = std::min(kPage, static_cast<size_t>(n) - in_block);
      const bool used = memcmp(&block[in_block], kZeros, size) != 0;
      if (used) free_unused();
      at += static_cast<off_t>(size);
      if (used) unused_from = at;
    }
  }
  free_unused();
}

}  // namespace rollcall::agent
