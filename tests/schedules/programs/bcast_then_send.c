// SPDX-License-Identifier: Apache-2.0
// The root broadcasts and then sends, rank 1 receives and then joins the broadcast: the root leaves
// a small broadcast before the others have come.
//
// schedules-test: ranks=3 finds=hang by=barriers
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int value = rank == 0 ? 7 : 0;
  int message = 3;
  if (rank == 0) {
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Send(&message, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
#ifdef FAULT
    MPI_Recv(&message, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
#else
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Recv(&message, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#endif
  } else {
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  Report("value", value + message);
  MPI_Finalize();
  return 0;
}
