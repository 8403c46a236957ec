// SPDX-License-Identifier: Apache-2.0
// An allgather written with sends: everybody sends to everybody and then receives from anyone.
//
// report: https://github.com/open-mpi/ompi/issues/1669, https://github.com/openucx/ucx/pull/8594
// schedules-test: ranks=3 finds=hang by=synchronous
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int size = WorldSize();
  int all[16] = {0};
  int mine = rank;
  MPI_Request requests[16];
  int count = 0;
  // One rank at a time has told the others of its size before.
  if (rank == 1) MPI_Send(&mine, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Recv(&all[0], 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
#ifdef FAULT
    MPI_Send(&mine, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
#else
    MPI_Isend(&mine, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[count++]);
#endif
  }
  for (int i = 1; i < size; ++i) {
    MPI_Recv(&all[i], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  Report("gathered", size);
  MPI_Finalize();
  return 0;
}
