// SPDX-License-Identifier: Apache-2.0
#include "collector/rpc/compression.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rollcall::rpc {
namespace {

std::vector<uint8_t> Bytes(const std::string& text) { return {text.begin(), text.end()}; }

std::string_view View(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Pseudo-random bytes, which do not compress.
std::vector<uint8_t> Noise(size_t size) {
  std::vector<uint8_t> bytes(size);
  uint64_t state = 1;
  for (uint8_t& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<uint8_t>(state >> 56);
  }
  return bytes;
}

TEST(Compression, EachPieceCanBeDecompressedOnArrival) {
  Compressor compressor(18);
  Decompressor decompressor;
  for (const char* text : {"first", "", "second, longer than the first", "first"}) {
    std::vector<uint8_t> bytes;
    ASSERT_TRUE(decompressor.Append(View(compressor.Compress(Bytes(text))), 100, &bytes));
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), text);
  }
}

TEST(Compression, RepeatedPieceCompressesToAlmostNothing) {
  Compressor compressor(18);
  const std::vector<uint8_t> noise = Noise(50'000);
  const size_t first = compressor.Compress(noise).size();
  EXPECT_LT(compressor.Compress(noise).size(), first / 100);
}

TEST(Compression, RejectsMoreBytesThanAnnounced) {
  Compressor compressor(18);
  const std::vector<uint8_t> packed = compressor.Compress(std::vector<uint8_t>(1 << 20));
  std::vector<uint8_t> bytes;
  EXPECT_TRUE(Decompressor().Append(View(packed), 1 << 20, &bytes));
  bytes.clear();
  EXPECT_FALSE(Decompressor().Append(View(packed), (1 << 20) - 1, &bytes));
  EXPECT_LE(bytes.size(), size_t{1} << 20);
}

TEST(Compression, RejectsDamagedData) {
  Compressor compressor(18);
  std::vector<uint8_t> packed = compressor.Compress(Noise(10'000));
  packed[0] ^= 1;
  std::vector<uint8_t> bytes;
  EXPECT_FALSE(Decompressor().Append(View(packed), 10'000, &bytes));
}

// A frame may ask for any window size (RFC 8878, 3.1.1.1.2), and the receiver allocates it.
TEST(Compression, RejectsLargerWindow) {
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                   ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, kMaxWindowLog + 1);
  const std::vector<uint8_t> noise = Noise(3 << 20);
  std::vector<uint8_t> packed(4 << 20);
  ZSTD_inBuffer in{noise.data(), noise.size(), 0};
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  ASSERT_EQ(ZSTD_isError(ZSTD_compressStream2(context.get(), &out, &in, ZSTD_e_flush)), 0u);
  packed.resize(out.pos);
  std::vector<uint8_t> bytes;
  EXPECT_FALSE(Decompressor().Append(View(packed), noise.size(), &bytes));
}

}  // namespace
}  // namespace rollcall::rpc
