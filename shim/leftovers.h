// What the program made and has not freed yet: groups, datatypes and reduction operations, by the
// call that made them. Whatever is still there when MPI ends was forgotten.
//
// Libraries hand one group out many times (MPI_Comm_group) and count how often: so does this.
// Nothing is recorded for each of them; the ring gets a row per call path, at the end
// (Operation::kLeftover).
//
// Any thread; a lock is held for the length of a look-up, as none of these calls is made often.
#ifndef ROLLCALL_SHIM_LEFTOVERS_H_
#define ROLLCALL_SHIM_LEFTOVERS_H_

#include <cstdint>

#include "proto/operations.h"
#include "shim/library.h"

namespace rollcall::shim {

// A handle came out of the call. Predefined ones (MPI_GROUP_EMPTY) are nobody's to free.
void HandleMade(const Library& library, uint64_t handle, Operation operation, uint32_t call_path);

// Before the library frees the handle: another thread may get it anew at once. The result is for
// HandleKept.
uint32_t HandleFreed(const Library& library, uint64_t handle);
// It was not freed after all.
void HandleKept(const Library& library, uint64_t handle, uint32_t freed);

struct Leftover {
  Operation operation = Operation::kNone;
  uint32_t call_path = 0;  // 0: not known which of several
  uint64_t count = 0;
  bool at_least = false;  // there was no room to count them all
};

// Call paths beyond these are added to another one's of the same operation, which is unknown
// then.
inline constexpr uint32_t kMostLeftovers = 64;

// What is left now, but for what was taken before (a program may open and close several sessions),
// in `most` rows at the most. Returns how many there are.
uint32_t TakeLeftovers(Leftover (&rows)[kMostLeftovers], uint32_t most);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_LEFTOVERS_H_
