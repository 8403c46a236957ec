// SPDX-License-Identifier: Apache-2.0
// Each rank tells its neighbors a size and then sends the data. A rank counts the sizes that it has
// got by a probe with any tag. The data of a fast neighbor counts as the size of a slow one.
//
// report: https://github.com/4C-multiphysics/4C/pull/2058
// schedules-test: ranks=3 finds=hang,failed,findings by=first schedules=6
#include "tests/faults/quiet.h"

enum { kSize = 1, kData = 2, kMost = 64 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int size = WorldSize();
#ifdef FAULT
  const int tag = MPI_ANY_TAG;
#else
  const int tag = kSize;
#endif
  int counts[16] = {0};
  int data[kMost] = {0};
  int part[kMost] = {0};
  int mine = rank + 2;
  MPI_Request requests[32];
  int pending = 0;
  if (rank == 2) Sleep(0.1);  // on the slower socket
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
    MPI_Isend(&mine, 1, MPI_INT, other, kSize, MPI_COMM_WORLD, &requests[pending++]);
  }
  for (int i = 1; i < size; ++i) {
    MPI_Status status;
    int count = 0;
    MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    MPI_Recv(&count, 1, MPI_INT, status.MPI_SOURCE, kSize, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    counts[status.MPI_SOURCE] = count;
  }
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
    MPI_Isend(part, mine, MPI_INT, other, kData, MPI_COMM_WORLD, &requests[pending++]);
  }
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
    MPI_Recv(data, counts[other], MPI_INT, other, kData, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
  Report("sizes", counts[1]);
  MPI_Finalize();
  return 0;
}
