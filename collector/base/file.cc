// SPDX-License-Identifier: Apache-2.0
#include "collector/base/file.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace rollcall {
namespace {

const char* KindName(mode_t mode) {
  if (S_ISDIR(mode)) return "is a directory";
  if (S_ISFIFO(mode)) return "is a FIFO";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "is a device";
  if (S_ISSOCK(mode)) return "is a socket";
  return "is not a regular file";
}

}  // namespace

FileStamp StampOf(const struct stat& st) {
  return {.device = st.st_dev,
          .inode = st.st_ino,
          .size = static_cast<uint64_t>(st.st_size),
          .modified_ns = int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec};
}

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

WakeFd::WakeFd() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void WakeFd::Wake() const { eventfd_write(fd_.get(), 1); }  // fails if it is full: readable already

bool WakeFd::Clear() const {
  eventfd_t count;
  return eventfd_read(fd_.get(), &count) == 0;
}

Result<RegularFile> OpenRegularFile(const std::string& path, uint64_t max_bytes) {
  // A path from a record may contain a NUL, where open(2) would cut it: another file's name.
  if (path.empty() || path.find('\0') != std::string::npos) return Error{"is not a file name"};
  // Opening a device can have effects (a tape rewinds): check the type before and after open(2).
  struct stat st;
  if (stat(path.c_str(), &st) != 0) {
    return Error{errno == ENOENT ? "is not on this machine" : std::strerror(errno)};
  }
  if (!S_ISREG(st.st_mode)) return Error{KindName(st.st_mode)};
  RegularFile file;
  file.fd = UniqueFd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.fd || fstat(file.fd.get(), &st) != 0) return Error{std::strerror(errno)};
  if (!S_ISREG(st.st_mode)) return Error{KindName(st.st_mode)};
  file.stamp = StampOf(st);
  if (file.stamp.size > max_bytes) return Error{"is too large to read"};
  return file;
}

std::optional<std::string> ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return std::nullopt;
  return text;
}

bool WriteWholeFile(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return static_cast<bool>(file);
}

uint64_t RaiseFileLimit() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);  // fails only for an invalid pointer or resource
  SetFileLimit(files.rlim_max);
  return files.rlim_cur;
}

void SetFileLimit(uint64_t limit) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = limit;
  setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace rollcall
