// SPDX-License-Identifier: Apache-2.0
// Rank 0 looks for a message of anyone with MPI_Iprobe, takes it, and then waits for rank 1.
//
// schedules-test: ranks=3 finds=hang by=first
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = WorldRank();
  if (value == 0) {
    MPI_Status status;
    int found = 0;
#ifdef FAULT
    const int source = MPI_ANY_SOURCE;
#else
    const int source = 2;
#endif
    while (!found) MPI_Iprobe(source, 0, MPI_COMM_WORLD, &found, &status);
    MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (value < 3) {
    if (value == 1) Sleep(0.1);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  Report("received from rank", value);
  MPI_Finalize();
  return 0;
}
