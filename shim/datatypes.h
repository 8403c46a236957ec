// SPDX-License-Identifier: Apache-2.0
// Datatype handles and their type signatures.
#ifndef ROLLCALL_SHIM_DATATYPES_H_
#define ROLLCALL_SHIM_DATATYPES_H_

#include <atomic>
#include <cstdint>

#include "proto/signature.h"
#include "shim/data/type_map.h"
#include "shim/library.h"
#include "shim/platform.h"

namespace rollcall::shim {

struct TypeInfo {
  uint16_t index = 0;    // as stored in records: BasicType, or 256 + ring::Datatype
  uint16_t basic = 0;    // BasicType of the first basic element
  uint32_t uniform = 0;  // TypeClass if all basic elements are of one class, else 0
  uint64_t basics = 0;   // number of basic elements in one element of this type
  Signature element;     // signature of one element of this type
  // nullptr if unknown, and unless data is read (g_process.data).
  const TypeMap* map = nullptr;
};

// Describes a handle. If the handle is seen for the first time, it queries the library
// (Type_get_envelope, Type_get_contents: local) and allocates; later it reads a table. A handle
// that cannot be described has index 0 and matches every type.
const TypeInfo& DescribeType(Library* library, Word handle);

// The signature of `count` elements; 0 if the type is unknown.
inline uint64_t BufferSignature(const TypeInfo& type, uint64_t count) {
  if (count == 0) return kEmptySignature;
  if (type.basics == 0) return type.index == 0 ? 0 : kEmptySignature;
  if (type.uniform != 0) return UniformSignature(type.uniform, type.basics * count);
  return MixedSignature(type.element, count);
}

// One side of a call's data: count, type, signature.
struct Side {
  uint64_t count = 0;
  uint16_t datatype = 0;
  uint64_t signature = 0;

  void SetSend(ring::Record* record) const {
    record->send_count = count;
    record->send_datatype = datatype;
    record->send_signature = signature;
  }
  void SetRecv(ring::Record* record) const {
    record->recv_count = count;
    record->recv_datatype = datatype;
    record->recv_signature = signature;
  }
};

// The sides that a thread described last. They hold until a type is freed.
struct SideMemo {
  const Library* library = nullptr;
  uint64_t handle = 0;
  uint64_t generation = 0;
  Side side;
};
inline constexpr int kSideMemoBits = 3;
extern ROLLCALL_HIDDEN std::atomic<uint64_t> g_type_generation;  // from 1

Side DescribeNewSide(SideMemo* memo, Library* library, uint64_t count, Word type);
// `memos` are the calling thread's.
inline Side DescribeSide(SideMemo* memos, Library* library, int64_t passed_count, Word type) {
  const auto count = static_cast<uint64_t>(passed_count);
  const uint64_t handle = library->Handle(type);
  SideMemo& memo = memos[((handle ^ count) * 0x9e3779b97f4a7c15) >> (64 - kSideMemoBits)];
  const bool same = memo.handle == handle && memo.side.count == count && memo.library == library &&
                    memo.generation == g_type_generation.load(std::memory_order_relaxed);
  if (__builtin_expect(same, 1)) return memo.side;
  return DescribeNewSide(&memo, library, count, type);
}

// Call it before MPI_Type_free: the library may reuse the handle at once.
void UnregisterType(const Library& library, uint64_t handle);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_DATATYPES_H_
