// SPDX-License-Identifier: Apache-2.0
// Rank 0 receives once from anyone and once from rank 1. If the first receive takes the message of
// rank 1, the second waits forever. Rank 1 usually comes later.
//
// schedules-test: ranks=3 finds=hang by=first
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = WorldRank();
  if (value == 0) {
#ifdef FAULT
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#else
    MPI_Recv(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#endif
    MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (value < 3) {
    if (value == 1) Sleep(0.1);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  Report("received from rank", value);
  MPI_Finalize();
  return 0;
}
