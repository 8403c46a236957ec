// Opens files whose names are untrusted. A path from a ring or from /proc/<pid>/maps may be a FIFO,
// a device or a directory: none of these may block the collector.
#ifndef ROLLCALL_COLLECTOR_BASE_FILE_H_
#define ROLLCALL_COLLECTOR_BASE_FILE_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>

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

// Identifies one state of a file's contents, as far as the file system can tell.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;  // since the epoch
  bool operator==(const FileStamp&) const = default;
};
FileStamp StampOf(const struct stat& st);

// Opens `path` read-only if it is a regular file of at most `max_bytes`. Never blocks on the kind
// of file (O_NONBLOCK matters for FIFOs, and O_NOCTTY for terminals); a dead network file system
// can still block. On failure the result is empty and `*error` says why, without the path.
UniqueFd OpenRegularFile(const std::string& path, uint64_t max_bytes, FileStamp* stamp,
                         std::string* error);

// Raises the limit of descriptors to the hard limit: 1,024 are usual, and each connection takes
// one. Returns the previous limit. Programs started from here inherit it, and a program that uses
// select(2) or closes every possible descriptor suffers: call SetFileLimit() before starting one.
uint64_t RaiseFileLimit();
// Descriptors above it that are open stay open.
void SetFileLimit(uint64_t limit);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_FILE_H_
