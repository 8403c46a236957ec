// SPDX-License-Identifier: Apache-2.0
// Opens files whose names are untrusted. A path from a ring or from /proc/<pid>/maps may be a FIFO,
// a device or a directory: none of these may block the collector.
#ifndef ROLLCALL_COLLECTOR_BASE_FILE_H_
#define ROLLCALL_COLLECTOR_BASE_FILE_H_

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collector/base/result.h"

namespace rollcall {

// Owns a file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(-1); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd);

 private:
  int fd_ = -1;
};

// An eventfd(2) on which a thread waits with poll(2). Thread-safe.
class WakeFd {
 public:
  WakeFd();
  int get() const { return fd_.get(); }
  void Wake() const;  // makes it readable
  // Makes it unreadable again. False if it was.
  bool Clear() const;

 private:
  const UniqueFd fd_;
};

// Identifies one state of a file's contents, as far as the file system can tell.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;  // since the epoch
  bool operator==(const FileStamp&) const = default;
};
FileStamp StampOf(const struct stat& st);

struct RegularFile {
  UniqueFd fd;  // read-only
  FileStamp stamp;
};
// Opens `path` if it is a regular file of at most `max_bytes`. Never blocks because of the kind of
// file (O_NONBLOCK matters for FIFOs, and O_NOCTTY for terminals). A dead network file system can
// still block. The error does not contain the path.
Result<RegularFile> OpenRegularFile(const std::string& path, uint64_t max_bytes);

// All bytes of a file of the user. Empty if it cannot be read.
std::optional<std::string> ReadWholeFile(const std::string& path);
// Makes or replaces a file. False, with errno, if it could not be written whole.
bool WriteWholeFile(const std::string& path, std::string_view text);

// Raises the limit of descriptors to the hard limit, because each connection takes a descriptor and
// 1,024 are the usual limit. Returns the previous limit. Programs started from this process inherit
// the limit. It harms a program that uses select(2) or closes every possible descriptor: call
// SetFileLimit() before starting one.
uint64_t RaiseFileLimit();
// Open descriptors above the limit stay open.
void SetFileLimit(uint64_t limit);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_FILE_H_
