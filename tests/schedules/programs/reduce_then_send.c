// SPDX-License-Identifier: Apache-2.0
// Rank 1 leaves a small reduction at once and sends to the root, which receives before it reduces.
//
// schedules-test: ranks=3 finds=hang by=barriers
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int value = rank;
  int sum = 0;
  int message = rank;
  if (rank == 1) {
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Send(&message, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  } else if (rank == 0) {
#ifdef FAULT
    MPI_Recv(&message, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
#else
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Recv(&message, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#endif
  } else {
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  }
  Report("sum", sum + message);
  MPI_Finalize();
  return 0;
}
