// SPDX-License-Identifier: Apache-2.0
// One compressed stream (Zstandard, RFC 8878) for many messages. Later messages refer to the
// contents of earlier ones. The rings of a node's ranks are similar, so all of them take little
// more space than one ring.
#ifndef ROLLCALL_COLLECTOR_RPC_COMPRESSION_H_
#define ROLLCALL_COLLECTOR_RPC_COMPRESSION_H_

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace rollcall::rpc {

// Not thread-safe. Throws std::bad_alloc only.
class Compressor {
 public:
  // Refers back to the last 2^`window_log` bytes, clamped to the limits below. A receiver needs as
  // much memory as the window.
  explicit Compressor(int window_log);
  // Flushes: a receiver of this and all earlier results can decode all of `bytes`.
  std::vector<uint8_t> Compress(std::span<const uint8_t> bytes);

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context_;
};

// The largest window that a receiver accepts, and the smallest that Zstandard supports (zstd.h,
// ZSTD_WINDOWLOG_MIN).
inline constexpr int kMaxWindowLog = 21;
inline constexpr int kMinWindowLog = 10;

// Decompresses the pieces of one Compressor's stream in order. The sender is untrusted: memory is
// bounded by 2^kMaxWindowLog bytes. Not thread-safe.
class Decompressor {
 public:
  Decompressor();
  // Appends the decompressed contents of `packed` to `bytes`. Returns false if they are damaged or
  // exceed `max_bytes`; only Restart() may be called afterwards.
  bool Append(std::string_view packed, uint64_t max_bytes, std::vector<uint8_t>* bytes);
  // Begins another stream. Much cheaper than a new object.
  void Restart();

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> stream_;
};

}  // namespace rollcall::rpc

#endif  // ROLLCALL_COLLECTOR_RPC_COMPRESSION_H_
