// SPDX-License-Identifier: Apache-2.0
// Ranks make a gather on one communicator and a scatter on another in different orders. Leaves
// leave the gather at once, and so the orders do not show.
//
// schedules-test: ranks=3 finds=hang by=barriers
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  int value = rank + 1;
  int all[16] = {0};
  int part = 0;
  int parts[16] = {0};
  int any = rank;
  // The wildcard keeps the records from deciding.
  if (rank == 2) MPI_Send(&any, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Recv(&any, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
#ifdef FAULT
  const int first_scatter = rank == 0;
#else
  const int first_scatter = 1;
#endif
  if (first_scatter) MPI_Scatter(parts, 1, MPI_INT, &part, 1, MPI_INT, 0, other);
  MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!first_scatter) MPI_Scatter(parts, 1, MPI_INT, &part, 1, MPI_INT, 0, other);
  Report("gathered", all[1]);
  MPI_Comm_free(&other);
  MPI_Finalize();
  return 0;
}
