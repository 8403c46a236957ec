// SPDX-License-Identifier: Apache-2.0
// Communicators, groups, datatypes and reduction operations that the program created and has not
// freed, by the call path that created them. Objects that are left when MPI ends are leaks.
//
// Libraries return one group many times (MPI_Comm_group) and count its references. This table
// counts references, too. The ring has no records of individual objects; at the end it gets one
// record per call path (Operation::kLeftover).
//
// Any thread. A lock is held during a look-up; these calls are rare.
#ifndef ROLLCALL_SHIM_LEFTOVERS_H_
#define ROLLCALL_SHIM_LEFTOVERS_H_

#include <cstdint>

#include "proto/operations.h"
#include "shim/library.h"

namespace rollcall::shim {

// The call returned a handle. Predefined ones (MPI_GROUP_EMPTY) are ignored.
void HandleCreated(const Library& library, uint64_t handle, Operation operation,
                   uint32_t call_path);

// Call it before the library frees the handle, because another thread may get the same handle at
// once. Pass the result to UndoHandleFreed if the library fails to free the handle.
uint32_t HandleFreed(const Library& library, uint64_t handle);
// Undoes HandleFreed when the library failed to free the handle.
void UndoHandleFreed(const Library& library, uint64_t handle, uint32_t freed);

struct Leftover {
  Operation operation = Operation::kNone;
  uint32_t call_path = 0;  // 0: unknown; the objects are of several call paths
  uint64_t count = 0;
  bool at_least = false;  // `count` is a lower bound: not all objects could be counted
};

// The maximum number of rows. Objects of further call paths are added to the row of another path of
// the same operation; that row's call path becomes unknown.
inline constexpr uint32_t kMaxLeftovers = 64;

// Stores the objects that are left now in at most `most` rows. Leaves out objects that an earlier
// call has stored (a program may open and close several sessions). Returns the number of rows.
uint32_t TakeLeftovers(Leftover (&rows)[kMaxLeftovers], uint32_t most);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_LEFTOVERS_H_
