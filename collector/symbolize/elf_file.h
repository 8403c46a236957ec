// SPDX-License-Identifier: Apache-2.0
// Opens untrusted ELF files: none may exhaust the collector.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_ELF_FILE_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_ELF_FILE_H_

#include <libelf.h>

#include <cstdint>
#include <memory>
#include <string>

#include "collector/base/file.h"
#include "collector/base/result.h"

namespace rollcall {

// An ELF file opened for reading. Not thread-safe; libelf keeps the sections it has read.
class ElfFile {
 public:
  struct Limits {
    uint64_t max_file_bytes = uint64_t{4} << 30;
    // All compressed sections together, unpacked: a small file may claim terabytes.
    uint64_t max_unpacked_bytes = uint64_t{4} << 30;
    // Up to this size sections are read(2). Larger files are mapped, because reading gigabytes of
    // debug information would take longer than a verdict may. If a mapped file is truncated, its
    // reader gets SIGBUS; therefore smaller files are not mapped.
    uint64_t max_read_bytes = uint64_t{256} << 20;
  };

  // Never null. The error does not contain the path.
  static Result<std::unique_ptr<ElfFile>> Open(const std::string& path, const Limits& limits);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  Elf* elf() const { return elf_; }  // owned by this object
  const std::string& path() const { return path_; }
  const FileStamp& stamp() const { return stamp_; }
  const std::string& build_id() const { return build_id_; }  // lower-case hex; empty if it has none
  bool HasSection(const char* name) const;       // also when compressed the old way (.zdebug_)
  bool Needs(const char* library_prefix) const;  // a DT_NEEDED entry has this prefix
  uint32_t Crc32() const;                        // of the whole file, as .gnu_debuglink counts it
  // True while the open file still has the contents that it had when it was opened.
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
