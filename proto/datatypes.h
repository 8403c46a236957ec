// SPDX-License-Identifier: Apache-2.0
// The predefined datatypes: number, name, class and size. Two datatypes of one class are the same
// type under two names.
#ifndef ROLLCALL_PROTO_DATATYPES_H_
#define ROLLCALL_PROTO_DATATYPES_H_

#include <cstdint>
#include <string_view>

namespace rollcall {

// The representation of a basic type on x86-64 and AArch64 Linux. Types of one class have the same
// bits. MPI_LONG on one rank and MPI_INT64_T on another is therefore reported as a note, not as a
// mismatch, although it is an error by MPI 4.0, 3.3.1.
enum class TypeClass : uint8_t {
  kUnknown,
  kByte,
  kPacked,
  kChar,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kF32,
  kF64,
  kF80,
  kF128,
  kC64,
  kC128,
  kC160,
  kBool,
  kLogical,
  kWchar,
  kPair,
  kAint,
  kOffset,
  kCount,
  kBf16,
  kF8e4m3,
  kF8e5m2,
};

// X(number, name, class, bytes). Numbers are stored in rings (Record::send_datatype) and must never
// change.
// clang-format off
#define ROLLCALL_DATATYPES(X) \
  X(1, MPI_BYTE, kByte, 1) X(2, MPI_PACKED, kPacked, 1) X(3, MPI_CHAR, kChar, 1) \
  X(4, MPI_SIGNED_CHAR, kI8, 1) X(5, MPI_UNSIGNED_CHAR, kU8, 1) X(6, MPI_SHORT, kI16, 2) \
  X(7, MPI_UNSIGNED_SHORT, kU16, 2) X(8, MPI_INT, kI32, 4) X(9, MPI_UNSIGNED, kU32, 4) \
  X(10, MPI_LONG, kI64, 8) X(11, MPI_UNSIGNED_LONG, kU64, 8) X(12, MPI_LONG_LONG, kI64, 8) \
  X(13, MPI_UNSIGNED_LONG_LONG, kU64, 8) X(14, MPI_FLOAT, kF32, 4) X(15, MPI_DOUBLE, kF64, 8) \
  X(16, MPI_LONG_DOUBLE, kF80, 16) X(17, MPI_WCHAR, kWchar, 4) X(18, MPI_C_BOOL, kBool, 1) \
  X(19, MPI_INT8_T, kI8, 1) X(20, MPI_INT16_T, kI16, 2) X(21, MPI_INT32_T, kI32, 4) \
  X(22, MPI_INT64_T, kI64, 8) X(23, MPI_UINT8_T, kU8, 1) X(24, MPI_UINT16_T, kU16, 2) \
  X(25, MPI_UINT32_T, kU32, 4) X(26, MPI_UINT64_T, kU64, 8) X(27, MPI_C_FLOAT_COMPLEX, kC64, 8) \
  X(28, MPI_C_DOUBLE_COMPLEX, kC128, 16) X(29, MPI_C_LONG_DOUBLE_COMPLEX, kC160, 32) \
  X(30, MPI_AINT, kI64, 8) X(31, MPI_OFFSET, kI64, 8) X(32, MPI_COUNT, kI64, 8) \
  X(33, MPI_CXX_BOOL, kBool, 1) X(34, MPI_CXX_FLOAT_COMPLEX, kC64, 8) \
  X(35, MPI_CXX_DOUBLE_COMPLEX, kC128, 16) X(36, MPI_CXX_LONG_DOUBLE_COMPLEX, kC160, 32) \
  X(37, MPI_FLOAT_INT, kPair, 8) X(38, MPI_DOUBLE_INT, kPair, 12) X(39, MPI_LONG_INT, kPair, 12) \
  X(40, MPI_2INT, kPair, 8) X(41, MPI_SHORT_INT, kPair, 6) X(42, MPI_LONG_DOUBLE_INT, kPair, 20) \
  X(43, MPI_CHARACTER, kChar, 1) X(44, MPI_LOGICAL, kLogical, 4) X(45, MPI_INTEGER, kI32, 4) \
  X(46, MPI_REAL, kF32, 4) X(47, MPI_DOUBLE_PRECISION, kF64, 8) X(48, MPI_COMPLEX, kC64, 8) \
  X(49, MPI_DOUBLE_COMPLEX, kC128, 16) X(50, MPI_2REAL, kPair, 8) \
  X(51, MPI_2DOUBLE_PRECISION, kPair, 16) X(52, MPI_2INTEGER, kPair, 8) X(53, MPI_REAL4, kF32, 4) \
  X(54, MPI_REAL8, kF64, 8) X(55, MPI_REAL16, kF128, 16) X(56, MPI_INTEGER1, kI8, 1) \
  X(57, MPI_INTEGER2, kI16, 2) X(58, MPI_INTEGER4, kI32, 4) X(59, MPI_INTEGER8, kI64, 8) \
  X(60, MPI_COMPLEX8, kC64, 8) X(61, MPI_COMPLEX16, kC128, 16) X(62, MPI_COMPLEX32, kUnknown, 32) \
  X(63, MPI_REAL2, kF16, 2) X(64, MPI_LOGICAL1, kLogical, 1) X(65, MPI_LOGICAL2, kLogical, 2) \
  X(66, MPI_LOGICAL4, kLogical, 4) X(67, MPI_LOGICAL8, kLogical, 8) \
  X(200, ncclInt8, kI8, 1) X(201, ncclUint8, kU8, 1) X(202, ncclInt32, kI32, 4) \
  X(203, ncclUint32, kU32, 4) X(204, ncclInt64, kI64, 8) X(205, ncclUint64, kU64, 8) \
  X(206, ncclFloat16, kF16, 2) X(207, ncclFloat32, kF32, 4) X(208, ncclFloat64, kF64, 8) \
  X(209, ncclBfloat16, kBf16, 2) X(210, ncclFloat8e4m3, kF8e4m3, 1) \
  X(211, ncclFloat8e5m2, kF8e5m2, 1) \
  X(220, uint8, kU8, 1) X(221, int8, kI8, 1) X(222, int16, kI16, 2) X(223, int32, kI32, 4) \
  X(224, int64, kI64, 8) X(225, float16, kF16, 2) X(226, float32, kF32, 4) \
  X(227, float64, kF64, 8) X(228, complex64, kC64, 8) X(229, complex128, kC128, 16) \
  X(230, bool, kBool, 1) X(231, bfloat16, kBf16, 2) X(232, float8_e5m2, kF8e5m2, 1) \
  X(233, float8_e4m3fn, kF8e4m3, 1) X(254, MPI_DATATYPE_NULL, kUnknown, 0)
// clang-format on

enum class BasicType : uint16_t {
  kNone = 0,
#define X(number, name, type_class, bytes) k##name = (number),
  ROLLCALL_DATATYPES(X)
#undef X
      kUnknown = 255,
};
// Record::send_datatype values from here on mean Datatype[value - kFirstDerived] of the ring.
inline constexpr uint16_t kFirstDerived = 256;
inline constexpr uint16_t kNoDatatypeRoom = 0xffff;  // a derived type for which the table was full

struct BasicTypeInfo {
  uint16_t number = 0;
  std::string_view name;
  TypeClass type_class = TypeClass::kUnknown;
  uint32_t bytes = 0;
};

inline constexpr BasicTypeInfo kBasicTypes[] = {
#define X(number, name, type_class, bytes) {number, #name, TypeClass::type_class, bytes},
    ROLLCALL_DATATYPES(X)
#undef X
};

constexpr BasicTypeInfo FindBasicType(uint16_t number) {
  for (const BasicTypeInfo& info : kBasicTypes) {
    if (info.number == number) return info;
  }
  return {};
}

}  // namespace rollcall

#endif  // ROLLCALL_PROTO_DATATYPES_H_
