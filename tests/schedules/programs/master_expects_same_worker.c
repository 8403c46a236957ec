// SPDX-License-Identifier: Apache-2.0
// Each worker announces itself and then sends its data, both with one tag. The master receives an
// announcement from anyone and then the data from anyone: the next message need not be of the
// worker that it answers.
//
// schedules-test: ranks=4 finds=hang by=first
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int value = rank;
  if (rank == 0) {
    for (int i = 1; i < WorldSize(); ++i) {
      MPI_Status status;
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
#ifdef FAULT
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
#else
      MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD, &status);
#endif
      MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
  } else {
    Sleep(0.1 * rank);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("answered", WorldSize() - 1);
  MPI_Finalize();
  return 0;
}
