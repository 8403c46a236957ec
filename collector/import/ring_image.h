// SPDX-License-Identifier: Apache-2.0
// A consistent copy of a ring file, taken while its process may be writing to it.
//
// Everything in a ring file is untrusted: a process that can write the file may write anything.
// Sizes, offsets and counts are checked here against the available bytes. ring_reader.h checks the
// meaning of the bytes. Memory is bounded by kMaxImageBytes and by the file's real size, whatever
// size the file claims.
#ifndef ROLLCALL_COLLECTOR_IMPORT_RING_IMAGE_H_
#define ROLLCALL_COLLECTOR_IMPORT_RING_IMAGE_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/model/trace.h"
#include "proto/ring_format.h"

namespace rollcall {

// The most that is read of one ring; 64 times the default size.
inline constexpr uint64_t kMaxImageBytes = uint64_t{256} << 20;

// How much of a ring is copied.
enum class ImageDepth {
  kState,  // header, threads, members with their data, open requests: what a sampler needs, a
           // few 10 KiB
  kAll,    // also the records and the tables they refer to
};

// The elements of one section that are in the file and in use.
struct ImageTable {
  uint64_t offset = 0;         // of the section, in the file it was read from
  uint32_t element_bytes = 0;  // stride
  uint64_t capacity = 0;       // as claimed
  uint64_t lost = 0;
  std::vector<uint8_t> bytes;

  uint64_t size() const { return element_bytes == 0 ? 0 : bytes.size() / element_bytes; }
  // A copy of the element's known part. Fields that an older version does not have are zero.
  // `index` < size().
  template <typename T>
  T Get(uint64_t index) const {
    const uint8_t* element = bytes.data() + index * element_bytes;
    T value;
    if (element_bytes >= sizeof(T)) {
      std::memcpy(&value, element, sizeof(T));  // of a constant size: there are many records
    } else {
      value = {};
      std::memcpy(&value, element, element_bytes);
    }
    return value;
  }
  // `value` must be the element's first field(s). `index` < size().
  template <typename T>
  void Put(uint64_t index, size_t field_offset, const T& value) {
    std::memcpy(bytes.data() + index * element_bytes + field_offset, &value, sizeof(T));
  }
  uint64_t OffsetOf(uint64_t index) const { return offset + index * element_bytes; }
};

struct RingImage {
  std::string source;         // for messages
  bool usable = false;        // false: not a ring, or not one that this version can read
  bool moved = false;         // a thread made calls while the image was taken
  bool has_records = false;   // taken with ImageDepth::kAll
  ring::FileHeader header{};  // strings are NUL-terminated; zero beyond the end of a truncated file
  std::array<ImageTable, ring::kSectionKinds> tables;  // by SectionKind
  std::vector<Problem> problems;

  const ImageTable& table(ring::SectionKind kind) const {
    return tables[static_cast<uint32_t>(kind)];
  }
  ImageTable& table(ring::SectionKind kind) { return tables[static_cast<uint32_t>(kind)]; }
};

// Copies the ring in `bytes`. `source` is its name in messages.
//
// Elements that were being written are marked so that a reader drops them. The marks are the words
// that mark them in a file, too: a lock that is odd or of another record, an open call without
// operation, a checkpoint with number 0. Every record with the right lock in the image is therefore
// consistent, although the image was taken in pieces. Each changing table is read three times,
// records twice; see ring_format.md, "Reading". Slots without a record, according to the heads, are
// not read and are zero in the image.
//
// If a ring buffer has more than `newest` slots, only its newest records are copied. Their number
// is a power of two. The ring buffer in the image has that many slots, as if the other records had
// been overwritten.
RingImage TakeImage(ByteSource& bytes, std::string source, ImageDepth depth = ImageDepth::kAll,
                    uint64_t newest = UINT64_MAX);

// Grows with every call entered or returned (except polls), with the phase, and with the progress
// that devices report. Two equal values mean that nothing moved in between. This is the only
// definition of movement. Needs the header and the tables of threads, marks and GPU progress; the
// other tables may be empty.
uint64_t RingActivity(const RingImage& image);

// The image as the bytes of a ring file without unused parts: sent by agents and stored in bundles.
std::vector<uint8_t> PackImage(const RingImage& image);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_RING_IMAGE_H_
