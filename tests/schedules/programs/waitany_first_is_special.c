// SPDX-License-Identifier: Apache-2.0
// Rank 0 takes the first of two messages for the one of rank 1, and answers only that rank.
//
// schedules-test: ranks=3 finds=hang by=first
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int value = rank;
  if (rank == 0) {
    int values[2] = {0, 0};
    MPI_Request requests[2];
    for (int i = 0; i < 2; ++i) {
      MPI_Irecv(&values[i], 1, MPI_INT, i + 1, 0, MPI_COMM_WORLD, &requests[i]);
    }
    int first = 0;
    MPI_Waitany(2, requests, &first, MPI_STATUS_IGNORE);
#ifdef FAULT
    const int answered = first + 1;
#else
    const int answered = 1;
#endif
    MPI_Send(&value, 1, MPI_INT, answered, 1, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else if (rank == 1) {
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 2) {
    Sleep(0.1);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("answered", 1);
  MPI_Finalize();
  return 0;
}
