// SPDX-License-Identifier: Apache-2.0
// Each worker sends a result of two phases with one tag, and gets an answer to the second. A fast
// worker's second result counts for the first phase of a slow one, which is then missed in the
// second phase: the master answers the fast one twice.
//
// schedules-test: ranks=3 finds=hang by=first
#include "tests/faults/quiet.h"

enum { kOne = 1, kTwo = 2, kAnswer = 3 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int workers = WorldSize() - 1;
#ifdef FAULT
  const int two = kOne;
#else
  const int two = kTwo;
#endif
  int value = rank;
  if (rank == 0) {
    MPI_Status status;
    for (int i = 0; i < workers; ++i) {
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, kOne, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < workers; ++i) {
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, two, MPI_COMM_WORLD, &status);
      MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, kAnswer, MPI_COMM_WORLD);
    }
  } else {
    MPI_Send(&value, 1, MPI_INT, 0, kOne, MPI_COMM_WORLD);
    Sleep(0.1);  // the work of the second phase
    MPI_Send(&value, 1, MPI_INT, 0, two, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 0, kAnswer, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("phases", 2);
  MPI_Finalize();
  return 0;
}
