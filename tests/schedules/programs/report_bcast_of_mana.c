// SPDX-License-Identifier: Apache-2.0
// A rank receives before it joins a broadcast whose root sends after it. Which library lets it pass
// changed with a version.
//
// report: https://github.com/mpickpt/mana/pull/394
// schedules-test: ranks=4 finds=hang by=barriers
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int root = WorldSize() - 1;
  int data[10] = {0};
  for (int step = 0; step < 3; ++step) {
    if (rank == 1) {
#ifdef FAULT
      MPI_Recv(data, 10, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Bcast(data, 10, MPI_INT, root, MPI_COMM_WORLD);
#else
      MPI_Bcast(data, 10, MPI_INT, root, MPI_COMM_WORLD);
      MPI_Recv(data, 10, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#endif
    } else {
      MPI_Bcast(data, 10, MPI_INT, root, MPI_COMM_WORLD);
      if (rank == root) MPI_Send(data, 10, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }
  }
  Report("steps", 3);
  MPI_Finalize();
  return 0;
}
