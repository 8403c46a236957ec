// SPDX-License-Identifier: Apache-2.0
// The members of a communicator as numbers that are the same on all processes: ranks in
// MPI_COMM_WORLD, or in the process set mpi://WORLD if a program uses only sessions.
//
// Local queries of the MPI library only (MPI 4.0, 7.3.1, 7.4.1, 11.3.2); allocates.
#ifndef ROLLCALL_SHIM_MEMBERS_H_
#define ROLLCALL_SHIM_MEMBERS_H_

#include <cstdint>

#include "shim/library.h"

namespace rollcall::shim {

struct Members {
  int* world = nullptr;  // world ranks by group rank; nullptr if unknown; malloc'ed
  int size = 0;
  uint64_t hash = 0;   // 0 if unknown
  bool known = false;  // every member has a world rank; false after spawn, connect and join

  Members() = default;
  ~Members();
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
};

// The members of a communicator's local or remote group. `out` is unchanged if the library does not
// provide them.
void FindMembers(const Library& library, uint64_t comm, bool remote, Members* out);

// The rank and size in mpi://WORLD of a program without MPI_COMM_WORLD. False if unknown.
bool FindWorldOfSession(const Library& library, int* rank, int* size);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_MEMBERS_H_
