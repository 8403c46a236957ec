// SPDX-License-Identifier: Apache-2.0
// A rank passes work on with a synchronous send to a rank that has already left, because the word
// to leave came before the work.
//
// report: https://github.com/hpc/libcircle/pull/10
// schedules-test: ranks=3 finds=hang,findings by=first
#include "tests/faults/quiet.h"

enum { kWork = 1, kLeave = 2 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int value = rank;
  if (rank == 0) {
    MPI_Status status;
    int works = 0;
    int leave = 0;
#ifdef FAULT
    while (!leave) {
#else
    while (!leave || works == 0) {
#endif
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      if (status.MPI_TAG == kWork) ++works;
      if (status.MPI_TAG == kLeave) leave = 1;
    }
  } else if (rank == 1) {
    MPI_Ssend(&value, 1, MPI_INT, 0, kWork, MPI_COMM_WORLD);
  } else {
    Sleep(0.1);
    MPI_Send(&value, 1, MPI_INT, 0, kLeave, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("left", 1);
  MPI_Finalize();
  return 0;
}
