// SPDX-License-Identifier: Apache-2.0
// The source of a ring's bytes: memory, or a file that may be written or truncated while it is
// read.
#ifndef ROLLCALL_COLLECTOR_BASE_BYTE_SOURCE_H_
#define ROLLCALL_COLLECTOR_BASE_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace rollcall {

// Not thread-safe. Nothing here throws.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // The present number of bytes; 0 if unknown.
  virtual uint64_t Size() = 0;
  // Copies up to `size` bytes at `offset` to `to` and returns their number. Fewer than requested
  // means that there are no more, or that they cannot be read.
  virtual size_t Read(uint64_t offset, void* to, size_t size) = 0;
  // Whether two reads of the same bytes may differ. If they cannot differ, one read is enough.
  virtual bool Changes() const = 0;
};

// A part of an open file, read with pread() and never mapped: if a mapped file is truncated, the
// process gets SIGBUS. Does not own the descriptor.
class FileSource : public ByteSource {
 public:
  explicit FileSource(int fd, uint64_t begin = 0, uint64_t end = INT64_MAX)
      : fd_(fd), begin_(begin), end_(end) {}
  uint64_t Size() override;
  size_t Read(uint64_t offset, void* to, size_t size) override;
  bool Changes() const override { return true; }

 private:
  int fd_;
  uint64_t begin_;
  uint64_t end_;
};

// Bytes in memory, owned by the caller.
class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint64_t Size() override { return bytes_.size(); }
  size_t Read(uint64_t offset, void* to, size_t size) override;
  bool Changes() const override { return false; }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_BYTE_SOURCE_H_
