// SPDX-License-Identifier: Apache-2.0
// The type map of a datatype (MPI 4.1, 5.1): where its data is, without the types of the elements.
//
// A type map is made when a datatype is seen for the first time, which may allocate. It lives as
// long as the process, because a request may outlive its datatype. Equal type maps are shared, and
// their memory is bounded. Any thread uses them without a lock.
#ifndef ROLLCALL_SHIM_DATA_TYPE_MAP_H_
#define ROLLCALL_SHIM_DATA_TYPE_MAP_H_

#include <cstddef>
#include <cstdint>

#include "proto/datatypes.h"

namespace rollcall::shim {

// A piece of consecutive bytes. `start` is the position of the piece among the data bytes of one
// element, counted without gaps. The piece ends where the next one starts.
struct TypeRun {
  int64_t offset = 0;  // in memory, from the element's address
  uint64_t start = 0;
};

// One element. Consecutive elements are `extent` bytes apart.
struct TypeMap {
  int64_t extent = 0;
  uint64_t bytes = 0;                          // of data
  uint64_t basics = 0;                         // number of basic elements
  TypeClass type_class = TypeClass::kUnknown;  // of all basic elements; kUnknown: several
  uint32_t run_count = 0;
  const TypeRun* runs = nullptr;  // of `run_count`; in the order of the type map

  // All data of consecutive elements is consecutive.
  bool contiguous() const {
    return run_count == 1 && runs[0].offset == 0 && static_cast<uint64_t>(extent) == bytes;
  }
  uint64_t EndOf(uint32_t run) const { return run + 1 < run_count ? runs[run + 1].start : bytes; }
};

// The constructor of a derived datatype: a combiner of MPI_Type_get_envelope. kOther: MakeTypeMap
// does not support it.
enum class TypeShape : uint8_t {
  kOther,
  kDup,
  kContiguous,
  kVector,
  kHvector,
  kIndexed,
  kHindexed,
  kIndexedBlock,
  kHindexedBlock,
  kStruct,
  kSubarray,
  kResized
};

// The results of MPI_Type_get_contents (MPI 4.1, 5.1.13), with the type maps of the datatypes.
struct TypeContents {
  const int* ints = nullptr;
  int int_count = 0;
  const int64_t* addresses = nullptr;
  int address_count = 0;
  const TypeMap* const* types = nullptr;
  int type_count = 0;
};

// Returns nullptr if the shape or a part is unknown, if there are too many runs, or without memory.
const TypeMap* MakeTypeMap(TypeShape shape, const TypeContents& contents, int64_t extent);
// For a predefined datatype. `size` and `extent` are the library's. Returns nullptr if they differ
// from those of the type's usual representation.
const TypeMap* MakeTypeMap(const BasicTypeInfo& basic, uint64_t size, int64_t extent);

// Elements of a datatype in memory. `base` may be nullptr: MPI_BOTTOM.
struct TypedBuffer {
  const char* base = nullptr;
  const TypeMap* map = nullptr;
  uint64_t count = 0;

  uint64_t bytes() const { return count * map->bytes; }
};

// Copies `length` bytes of the buffer's data (counted without gaps), starting at byte `from`. The
// range must be in the buffer. No allocation.
void CopyData(const TypedBuffer& buffer, uint64_t from, uint64_t length, void* to);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_DATA_TYPE_MAP_H_
