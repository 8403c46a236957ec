// SPDX-License-Identifier: Apache-2.0
// Two ranks send a small message to each other before they receive: no library waits in the sends,
// as long as the messages stay below its eager limit. The wildcard before keeps the records of one
// run from showing it.
//
// schedules-test: ranks=2 finds=hang by=synchronous
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int value = rank;
  int received = -1;
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv(&received, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
#ifdef FAULT
  MPI_Send(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
  MPI_Recv(&received, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#else
  MPI_Request request;
  MPI_Isend(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &request);
  MPI_Recv(&received, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
  Report("received", received);
  MPI_Finalize();
  return 0;
}
