// SPDX-License-Identifier: Apache-2.0
// Standard sends that become synchronous: to MPI_PROC_NULL, to the own rank, freed before they are
// complete, tested, and with data of some size. MPI_Bsend and MPI_Sendrecv stay as they are.
//
// schedules-rule: ranks=2 follows=yes
// plan: synchronous
#include "tests/schedules/rules/rule.h"

enum { kCount = 1 << 16 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int other = 1 - rank;
  int* mine = Buffer(kCount, sizeof(*mine));
  int* theirs = Buffer(kCount, sizeof(*theirs));
  for (int i = 0; i < kCount; ++i) mine[i] = rank * kCount + i;
  MPI_Request request;
  MPI_Send(mine, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Isend(mine, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
  MPI_Recv(theirs, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  Require(theirs[0] == mine[0], "a message to the own rank arrives");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isend(mine, kCount, MPI_INT, other, 2, MPI_COMM_WORLD, &request);
  MPI_Recv(theirs, kCount, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int done = 0;
  while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  Require(theirs[kCount - 1] == other * kCount + kCount - 1, "data arrive unchanged");
  MPI_Isend(mine, 1, MPI_INT, other, 3, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Recv(theirs, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  // Both send first: only buffering keeps this from a deadlock, and the buffer is the program's.
  char space[256 + MPI_BSEND_OVERHEAD];
  void* buffer = space;
  int size = sizeof(space);
  MPI_Buffer_attach(buffer, size);
  MPI_Bsend(mine, 1, MPI_INT, other, 4, MPI_COMM_WORLD);
  MPI_Recv(theirs, 1, MPI_INT, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&buffer, &size);
  MPI_Sendrecv(mine, 1, MPI_INT, other, 5, theirs, 1, MPI_INT, other, 5, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  Require(theirs[0] == other * kCount, "MPI_Sendrecv is left alone");
  free(mine);
  free(theirs);
  MPI_Finalize();
  return 0;
}
