// SPDX-License-Identifier: Apache-2.0
// The identity of a process group: the prefixes of the store by which its members meet. The
// prefixes are equal on all members. They are the group's name below "default_pg"; new_group makes
// the name from a counter or from the members (torch/distributed/distributed_c10d.py).
#ifndef ROLLCALL_SHIM_TORCH_GROUPS_H_
#define ROLLCALL_SHIM_TORCH_GROUPS_H_

#include <cstdint>

namespace rollcall::shim::torch {

// Notes that `store` puts `prefix` (not terminated) before the keys of `below`. Any thread; works
// also in a process that is not recorded. Takes a short lock, allocates nothing.
void NoteStore(const void* store, const char* prefix, uint64_t length, const void* below);

struct GroupName {
  uint64_t hash = 0;   // of all prefixes; 0: the store is not known
  char text[64] = {};  // "default_pg", or the group's own name; empty if it is not known
};
GroupName NameOfGroup(const void* store);

// The MPI backend has no store: a group is made from the ranks of its members. Notes that the
// calling thread makes its next group from these ranks; an empty list means all ranks.
void NoteMpiRanks(const int* begin, const int* end);
GroupName NameOfMpiGroup();

}  // namespace rollcall::shim::torch

#endif  // ROLLCALL_SHIM_TORCH_GROUPS_H_
