// SPDX-License-Identifier: Apache-2.0
#include "collector/bundle/packer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "collector/base/print_line.h"
#include "collector/bundle/format.h"

namespace rollcall::bundle {
namespace {

constexpr int kLevel = 3;
constexpr unsigned kMaxThreads = 4;

}  // namespace

Packer::Packer(std::string path)
    : path_(std::move(path)),
      partial_(path_ + ".partial"),
      fd_(open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)),
      context_(ZSTD_createCCtx()),
      out_(ZSTD_CStreamOutSize()) {
  if (!fd_) {
    Fail(errno);
    partial_.clear();  // not created here: do not remove it
  }
  if (context_ == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, kMaxWindowLog);
  // This call fails in a Zstandard library without threads. Compression is then only slower.
  const unsigned threads = std::min(std::thread::hardware_concurrency(), kMaxThreads);
  if (threads > 1) {
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_nbWorkers, static_cast<int>(threads));
  }
}

Packer::~Packer() {
  if (!partial_.empty()) unlink(partial_.c_str());
}

bool Packer::Fail(int error) {
  if (error_.empty()) error_ = std::strerror(error);
  return false;
}

bool Packer::Store(const uint8_t* bytes, size_t size) {
  packed_bytes_ += size;
  return WriteAll(fd_.get(), {reinterpret_cast<const char*>(bytes), size}) || Fail(errno);
}

bool Packer::Compress(std::span<const uint8_t> bytes, ZSTD_EndDirective how) {
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  while (error_.empty()) {
    ZSTD_outBuffer output{out_.data(), out_.size(), 0};
    const size_t left = ZSTD_compressStream2(context_.get(), &output, &input, how);
    if (ZSTD_isError(left) != 0) {
      error_ = ZSTD_getErrorName(left);
      break;
    }
    if (!Store(out_.data(), output.pos)) break;
    if (how == ZSTD_e_end ? left == 0 : input.pos == input.size) return true;
  }
  return false;
}

bool Packer::Write(std::span<const uint8_t> bytes) {
  return error_.empty() && Compress(bytes, ZSTD_e_continue);
}

bool Packer::Finish() {
  if (!error_.empty() || !Compress({}, ZSTD_e_end)) return false;
  if (close(fd_.release()) != 0 || rename(partial_.c_str(), path_.c_str()) != 0) return Fail(errno);
  partial_.clear();
  return true;
}

}  // namespace rollcall::bundle
