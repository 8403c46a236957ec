// SPDX-License-Identifier: Apache-2.0
#include "collector/bundle/unpacker.h"

#include <fmt/format.h>

#include <new>

#include "collector/bundle/format.h"

namespace rollcall::bundle {

Unpacker::Unpacker(ByteSource* packed)
    : packed_(*packed),
      stream_(ZSTD_createDStream()),
      in_(ZSTD_DStreamInSize()),
      out_(ZSTD_DStreamOutSize()) {
  if (stream_ == nullptr) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
}

std::span<const uint8_t> Unpacker::Next() {
  while (!ended_) {
    ZSTD_outBuffer output{out_.data(), out_.size(), 0};
    // Output that did not fit into a full buffer needs no further input.
    if (input_.pos == input_.size && !was_full_ && !Refill()) {
      ended_ = true;
      if (in_frame_) problem_ = {ProblemCode::kTruncated, "the file is truncated here"};
      break;
    }
    const size_t left = ZSTD_decompressStream(stream_.get(), &output, &input_);
    if (ZSTD_isError(left) != 0) {
      problem_ = {ProblemCode::kDamaged,
                  fmt::format("the compressed data is damaged: {}", ZSTD_getErrorName(left))};
      ended_ = true;
    } else {
      in_frame_ = left != 0;
    }
    was_full_ = output.pos == output.size;
    produced_ += output.pos;
    if (IsBomb()) {
      problem_ = {ProblemCode::kOverLimit,
                  fmt::format("it unpacks to more than {} bytes: refused", produced_)};
      ended_ = true;
      break;
    }
    if (output.pos != 0) return {out_.data(), output.pos};
  }
  return {};
}

bool Unpacker::Refill() {
  const size_t got =
      consumed_ >= kMaxPackedBytes ? 0 : packed_.Read(consumed_, in_.data(), in_.size());
  consumed_ += got;
  input_ = {in_.data(), got, 0};
  return got != 0;
}

bool Unpacker::IsBomb() const {
  return produced_ > kMaxUnpackedBytes || produced_ > kFreeBytes + consumed_ * kMaxRatio;
}

}  // namespace rollcall::bundle
