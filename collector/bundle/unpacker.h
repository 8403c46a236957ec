// SPDX-License-Identifier: Apache-2.0
// The contents of a Zstandard file, piece by piece, up to a limit.
#ifndef ROLLCALL_COLLECTOR_BUNDLE_UNPACKER_H_
#define ROLLCALL_COLLECTOR_BUNDLE_UNPACKER_H_

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/model/problem.h"

namespace rollcall::bundle {

// Not thread-safe. Throws std::bad_alloc only.
class Unpacker {
 public:
  // `packed` must outlive this object.
  explicit Unpacker(ByteSource* packed);

  // The next piece, valid until the next call. Empty at the end. If the file is cut off
  // or damaged, problem() is then set, without a source.
  std::span<const uint8_t> Next();

  const std::optional<Problem>& problem() const { return problem_; }
  // Bytes of the file that were read.
  uint64_t consumed() const { return consumed_; }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  bool Refill();
  bool IsBomb() const;

  ByteSource& packed_;
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  std::vector<uint8_t> in_;
  std::vector<uint8_t> out_;
  ZSTD_inBuffer input_{};
  uint64_t consumed_ = 0;  // read into in_
  uint64_t produced_ = 0;
  bool in_frame_ = true;  // no frame has ended yet, or another one has begun
  bool was_full_ = false;
  bool ended_ = false;
  std::optional<Problem> problem_;
};

}  // namespace rollcall::bundle

#endif  // ROLLCALL_COLLECTOR_BUNDLE_UNPACKER_H_
