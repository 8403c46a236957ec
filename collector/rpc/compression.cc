// SPDX-License-Identifier: Apache-2.0
#include "collector/rpc/compression.h"

#include <algorithm>
#include <new>

namespace rollcall::rpc {
namespace {

constexpr int kLevel = 3;
constexpr size_t kPieceBytes = 1 << 17;

}  // namespace

Compressor::Compressor(int window_log) : context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog,
                         std::clamp(window_log, kMinWindowLog, kMaxWindowLog));
}

std::vector<uint8_t> Compressor::Compress(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> packed;
  const size_t piece = std::min(kPieceBytes, ZSTD_compressBound(bytes.size()));
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (size_t left = 1; left != 0;) {
    const size_t at = packed.size();
    packed.resize(at + piece);
    ZSTD_outBuffer out{packed.data() + at, piece, 0};
    left = ZSTD_compressStream2(context_.get(), &out, &in, ZSTD_e_flush);
    if (ZSTD_isError(left) != 0) throw std::bad_alloc();  // nothing else can fail
    packed.resize(at + out.pos);
  }
  return packed;
}

Decompressor::Decompressor() : stream_(ZSTD_createDStream()) {
  if (stream_ == nullptr) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
}

void Decompressor::Restart() { ZSTD_DCtx_reset(stream_.get(), ZSTD_reset_session_only); }

bool Decompressor::Append(std::string_view packed, uint64_t max_bytes,
                          std::vector<uint8_t>* bytes) {
  const size_t begin = bytes->size();
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  for (bool full = false; in.pos < in.size || full;) {
    const size_t at = bytes->size();
    // Room for one byte more than the limit detects a sender that exceeds it.
    const uint64_t room = std::min<uint64_t>(kPieceBytes, begin + max_bytes - at + 1);
    bytes->resize(at + room);
    ZSTD_outBuffer out{bytes->data() + at, room, 0};
    const size_t result = ZSTD_decompressStream(stream_.get(), &out, &in);
    bytes->resize(at + out.pos);
    if (ZSTD_isError(result) != 0 || bytes->size() - begin > max_bytes) return false;
    full = out.pos == out.size;
  }
  return true;
}

}  // namespace rollcall::rpc
