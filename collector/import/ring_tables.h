// SPDX-License-Identifier: Apache-2.0
// Checks a ring's header and its list of sections, and reads single tables: shared by an agent's
// sampler and the reader of whole rings.
#ifndef ROLLCALL_COLLECTOR_IMPORT_RING_TABLES_H_
#define ROLLCALL_COLLECTOR_IMPORT_RING_TABLES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "collector/base/byte_source.h"
#include "collector/import/ring_image.h"
#include "proto/ring_format.h"

namespace rollcall {

// Fills an image table by table. Not thread-safe. Damaged parts are listed in the image's problems
// and left out. At most kMaxImageBytes are read. Throws std::bad_alloc only.
class RingTables {
 public:
  // Both must outlive this object; `image` must be empty.
  RingTables(ByteSource* bytes, RingImage* image) : bytes_(*bytes), image_(*image) {}

  // Reads and checks the header and the places of the sections. False, with a problem, if the image
  // is unusable.
  bool Open();

  // The number of bytes of a section that are in use according to the image's header, and present
  // in the file.
  size_t BytesOf(ring::SectionKind kind);
  // Copies the used part of a section into its table of the image.
  void Read(ring::SectionKind kind);
  // Copies `count` elements, from index `from` in the file, to index `to` of the table, which must
  // have room for them. If they cannot be read, returns false, and the table ends before them.
  bool ReadElements(ring::SectionKind kind, uint64_t from, uint64_t to, uint64_t count);

 private:
  bool ReadHeader();
  void LocateSections();
  void AddProblem(uint64_t offset, std::string message, ProblemCode code = ProblemCode::kDamaged);

  ByteSource& bytes_;
  RingImage& image_;
  uint64_t file_bytes_ = 0;
  uint64_t budget_ = kMaxImageBytes;
  std::array<uint32_t, ring::kSectionKinds> section_index_{};  // valid if a table has element_bytes
};

// Ensures that the strings of a header end within their fields.
void TerminateStrings(ring::FileHeader* header);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_RING_TABLES_H_
