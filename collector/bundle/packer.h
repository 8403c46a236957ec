// SPDX-License-Identifier: Apache-2.0
// A file that is written compressed and appears either complete or not at all.
#ifndef ROLLCALL_COLLECTOR_BUNDLE_PACKER_H_
#define ROLLCALL_COLLECTOR_BUNDLE_PACKER_H_

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collector/symbolize/elf_file.h"

namespace rollcall::bundle {

// Zstandard with a checksum. Not thread-safe; compresses with its own threads if there are several
// cores. Throws std::bad_alloc only.
class Packer {
 public:
  // Writes a temporary file beside `path` until Finish(), with mode 0600.
  explicit Packer(std::string path);
  // Removes an unfinished file.
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  // After the first failure nothing more is written; error() has the reason.
  bool Write(std::span<const uint8_t> bytes);
  // Moves the file to `path`, replacing an existing one.
  bool Finish();

  const std::string& error() const { return error_; }
  uint64_t packed_bytes() const { return packed_bytes_; }

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };

  bool Compress(std::span<const uint8_t> bytes, ZSTD_EndDirective how);
  bool Store(const uint8_t* bytes, size_t size);
  bool Fail(int error);

  const std::string path_;
  std::string partial_;
  UniqueFd fd_;
  std::unique_ptr<ZSTD_CCtx, Free> context_;
  std::vector<uint8_t> out_;
  uint64_t packed_bytes_ = 0;
  std::string error_;
};

}  // namespace rollcall::bundle

#endif  // ROLLCALL_COLLECTOR_BUNDLE_PACKER_H_
