// SPDX-License-Identifier: Apache-2.0
// MPI's error classes. Their numbers differ between libraries: MPICH's MPI_ERR_TRUNCATE is Open
// MPI's MPI_ERR_UNKNOWN.
#ifndef ROLLCALL_PROTO_MPI_ERRORS_H_
#define ROLLCALL_PROTO_MPI_ERRORS_H_

#include <cstdint>
#include <string_view>

#include "proto/ring_format.h"

namespace rollcall {

// X(class, text, number in Open MPI 4.1, number in MPICH 4.0, whether it rejects the call). MPI
// checks the arguments of a call first, so a rejected call has taken part in no communication.
// Errors of the other classes may occur after data was exchanged.
#define ROLLCALL_ERROR_CLASSES(X)                         \
  X(BUFFER, "invalid buffer pointer", 1, 1, true)         \
  X(COUNT, "invalid count", 2, 2, true)                   \
  X(TYPE, "invalid datatype", 3, 3, true)                 \
  X(TAG, "invalid tag", 4, 4, true)                       \
  X(COMM, "invalid communicator", 5, 5, true)             \
  X(RANK, "invalid rank", 6, 6, true)                     \
  X(REQUEST, "invalid request", 7, 19, true)              \
  X(ROOT, "invalid root", 8, 7, true)                     \
  X(GROUP, "invalid group", 9, 8, true)                   \
  X(OP, "invalid reduction operation", 10, 9, true)       \
  X(TOPOLOGY, "invalid topology", 11, 10, true)           \
  X(DIMS, "invalid dimensions", 12, 11, true)             \
  X(ARG, "invalid argument", 13, 12, true)                \
  X(UNKNOWN, "unknown error", 14, 13, false)              \
  X(TRUNCATE, "message truncated", 15, 14, false)         \
  X(OTHER, "another error", 16, 15, false)                \
  X(INTERN, "internal error", 17, 16, false)              \
  X(IN_STATUS, "error code in the status", 18, 17, false) \
  X(PENDING, "pending request", 19, 18, false)            \
  X(ASSERT, "invalid assertion", 22, 53, true)            \
  X(DISP, "invalid displacement", 26, 52, true)           \
  X(FILE, "invalid file handle", 30, 27, true)            \
  X(INFO, "invalid info object", 34, 28, true)            \
  X(IO, "input or output failed", 35, 32, false)          \
  X(KEYVAL, "invalid attribute key", 36, 48, true)        \
  X(LOCKTYPE, "invalid lock type", 37, 47, true)          \
  X(NO_MEM, "no memory", 39, 34, false)                   \
  X(RMA_SYNC, "wrong synchronization", 47, 50, false)     \
  X(SIZE, "invalid size", 49, 51, true)                   \
  X(SPAWN, "processes cannot be started", 50, 42, false)  \
  X(WIN, "invalid window", 53, 45, true)

enum class ErrorClass : uint8_t {
  kNone = 0,  // none of these
#define X(name, text, open_mpi, mpich, rejects) k##name,
  ROLLCALL_ERROR_CLASSES(X)
#undef X
};

struct ErrorClassInfo {
  ErrorClass error = ErrorClass::kNone;
  std::string_view name;  // "MPI_ERR_ROOT"
  std::string_view text;  // "invalid root"
  int open_mpi = 0;
  int mpich = 0;
  bool rejects = false;
};

inline constexpr ErrorClassInfo kErrorClasses[] = {
#define X(name, text, open_mpi, mpich, rejects) \
  {ErrorClass::k##name, "MPI_ERR_" #name, text, open_mpi, mpich, rejects},
    ROLLCALL_ERROR_CLASSES(X)
#undef X
};

// The class that `number` stands for in a library of `flavor`. For the standard ABI, only numbers
// that are the same in both libraries are used. An unknown library is treated as Open MPI.
constexpr ErrorClassInfo FindErrorClass(ring::Flavor flavor, uint64_t number) {
  for (const ErrorClassInfo& info : kErrorClasses) {
    const bool mpich = flavor == ring::Flavor::kMpich;
    const bool known = flavor != ring::Flavor::kMpiStandardAbi || info.open_mpi == info.mpich;
    if (known && number == static_cast<uint64_t>(mpich ? info.mpich : info.open_mpi)) return info;
  }
  return {};
}

// All empty for kNone.
constexpr ErrorClassInfo InfoOf(ErrorClass error) {
  for (const ErrorClassInfo& info : kErrorClasses) {
    if (info.error == error) return info;
  }
  return {};
}

}  // namespace rollcall

#endif  // ROLLCALL_PROTO_MPI_ERRORS_H_
