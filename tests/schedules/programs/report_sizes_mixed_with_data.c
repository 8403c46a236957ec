// SPDX-License-Identifier: Apache-2.0
// Workers send a size and then the data, with one tag. The root takes a size from anyone and then
// data from anyone: they may be of two workers.
//
// report: https://github.com/OpenChemistry/stempy/pull/293
// schedules-test: ranks=3 finds=hang,failed,findings by=first
#include "tests/faults/quiet.h"

enum { kMost = 64 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int data[kMost] = {0};
  int count = 10 * rank;
  if (rank == 0) {
    for (int i = 1; i < WorldSize(); ++i) {
#ifdef FAULT
      const int source = MPI_ANY_SOURCE;
#else
      const int source = i;
#endif
      MPI_Recv(&count, 1, MPI_INT, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(data, count, MPI_INT, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  } else {
    Sleep(0.1 * (rank - 1));
    MPI_Send(&count, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Send(data, count, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  Report("count", count);
  MPI_Finalize();
  return 0;
}
