// Checks a ring's header and its list of sections, and reads single tables: what the sampler of an
// agent and the reader of whole rings share.
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

// Fills an image table by table. Not thread-safe. Damage is listed in the image's problems and left
// out; at most kMaxImageBytes are read. Throws std::bad_alloc only.
class RingTables {
 public:
  // Both must outlive this; `image` is empty.
  RingTables(ByteSource* bytes, RingImage* image) : bytes_(*bytes), image_(*image) {}

  // Reads and checks the header and where the sections are. False, with a problem: the image is not
  // usable.
  bool Open();

  // How many bytes of a section are in use, by the image's header, and in the file.
  size_t BytesOf(ring::SectionKind kind);
  // Copies what is in use of a section into its table of the image.
  void Read(ring::SectionKind kind);
  // Copies `count` elements, from `from` on in the file, into the table from `to` on, which has
  // room for them already. False, with a table that ends before them, if they cannot be read.
  bool ReadElements(ring::SectionKind kind, uint64_t from, uint64_t to, uint64_t count);

 private:
  bool ReadHeader();
  void LocateSections();
  void AddProblem(uint64_t offset, std::string message, ProblemCode code = ProblemCode::kDamaged);

  ByteSource& bytes_;
  RingImage& image_;
  uint64_t file_bytes_ = 0;
  uint64_t budget_ = kMaxImageBytes;
  std::array<uint32_t, kSectionKinds> section_index_{};  // valid where a table has element_bytes
};

// Makes the strings of a header end within their fields.
void TerminateStrings(ring::FileHeader* header);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_RING_TABLES_H_
