// Opens ELF files that somebody else named. A path out of a ring or of /proc/<pid>/maps may be a
// FIFO, a device, a directory or a crafted file: none of these may block or exhaust the collector.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_ELF_FILE_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_ELF_FILE_H_

#include <libelf.h>

#include <cstdint>
#include <memory>
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

// What identifies one state of a file's contents, as far as a file system tells.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;  // since the epoch
  bool operator==(const FileStamp&) const = default;
};

// Opens `path` read-only if it is a regular file of at most `max_bytes`. Never blocks on the kind
// of file (O_NONBLOCK matters for FIFOs, and O_NOCTTY for terminals); a dead network file system
// can still block. On failure the result is empty and `*error` says why, without the path.
UniqueFd OpenRegularFile(const std::string& path, uint64_t max_bytes, FileStamp* stamp,
                         std::string* error);

// An ELF file opened for reading. Not thread-safe; libelf keeps the sections it has read.
class ElfFile {
 public:
  struct Limits {
    uint64_t max_file_bytes = uint64_t{4} << 30;
    // All compressed sections together, unpacked: a small file may claim terabytes.
    uint64_t max_unpacked_bytes = uint64_t{4} << 30;
    // Up to this size sections are read(2). Above, the file is mapped, because reading gigabytes of
    // debug information would cost the second that a verdict has. A mapped file that is truncated
    // meanwhile kills the reader by SIGBUS, hence not always.
    uint64_t max_read_bytes = uint64_t{256} << 20;
  };

  // Null on failure, with the reason in `*error` (without the path).
  static std::unique_ptr<ElfFile> Open(const std::string& path, const Limits& limits,
                                       std::string* error);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  Elf* elf() const { return elf_; }  // owned by this object
  const std::string& path() const { return path_; }
  const FileStamp& stamp() const { return stamp_; }
  const std::string& build_id() const { return build_id_; }  // lower-case hex; empty: it has none
  bool HasSection(const char* name) const;       // also when compressed the old way (.zdebug_)
  bool Needs(const char* library_prefix) const;  // a DT_NEEDED entry begins so
  uint32_t Crc32() const;                        // of the whole file, as .gnu_debuglink counts it
  // True while the open file still has the contents it had when it was opened.
  bool Unchanged() const;

 private:
  ElfFile(UniqueFd fd, std::string path, const FileStamp& stamp);

  UniqueFd fd_;
  std::string path_;
  FileStamp stamp_;
  Elf* elf_ = nullptr;
  std::string build_id_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_ELF_FILE_H_
