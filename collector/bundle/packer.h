// A file that is written compressed, and appears whole or not at all.
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

// Zstandard with a checksum. Not thread-safe; compresses with threads of its own where there are
// several cores. Throws std::bad_alloc only.
class Packer {
 public:
  // Writes beside `path` until Finish(), with mode 0600.
  explicit Packer(std::string path);
  // What is not finished is removed.
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  // After the first failure nothing is written any more; error() says why.
  bool Write(std::span<const uint8_t> bytes);
  // Puts the file in its place, over one that is there.
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
