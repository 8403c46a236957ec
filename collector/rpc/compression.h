// One compressed stream (Zstandard, RFC 8878) for many messages: later ones refer to what earlier
// ones held, so that the rings of a node's ranks, which are much alike, cost little more than one.
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
  // Refers back to the last 2^`window_log` bytes, or as many as are allowed; a receiver needs as
  // much memory.
  explicit Compressor(int window_log);
  // Whole by itself given what was compressed before: a receiver of all of it has all of `bytes`.
  std::vector<uint8_t> Compress(std::span<const uint8_t> bytes);

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context_;
};

// The largest window that a receiver takes, and the smallest that Zstandard has (zstd.h,
// ZSTD_WINDOWLOG_MIN).
inline constexpr int kMostWindowLog = 21;
inline constexpr int kLeastWindowLog = 10;

// Takes the pieces of one Compressor's stream in their order, from an untrusted sender: its memory
// is bounded by 2^kMostWindowLog bytes. Not thread-safe.
class Decompressor {
 public:
  Decompressor();
  // Appends what `packed` holds to `bytes`. False if it is damaged or holds more than `most_bytes`;
  // nothing but Restart() may be asked of this object then.
  bool Append(std::string_view packed, uint64_t most_bytes, std::vector<uint8_t>* bytes);
  // For the pieces of another stream from now on. Costs far less than another object.
  void Restart();

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> stream_;
};

}  // namespace rollcall::rpc

#endif  // ROLLCALL_COLLECTOR_RPC_COMPRESSION_H_
