// SPDX-License-Identifier: Apache-2.0
// Neighbors exchange counts, and then what they counted. The second part is received from anyone
// with any tag, one neighbor after the other: it takes the count of a slow neighbor of the next
// round.
//
// report: https://github.com/open-mpi/ompi/issues/6078
// schedules-test: ranks=3 finds=hang,failed,findings by=first schedules=6
#include "tests/faults/quiet.h"

enum { kCount = 1, kData = 2, kRounds = 2, kMost = 64 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int size = WorldSize();
#ifdef FAULT
  const int tag = MPI_ANY_TAG;
#else
  const int tag = kData;
#endif
  double data[kMost] = {0};
  for (int round = 0; round < kRounds; ++round) {
    int mine = rank + 1;
    int counts[16] = {0};
    MPI_Request requests[64];
    int pending = 0;
    for (int other = 0; other < size; ++other) {
      if (other == rank) continue;
      MPI_Irecv(&counts[other], 1, MPI_INT, other, kCount, MPI_COMM_WORLD, &requests[pending++]);
      MPI_Isend(&mine, 1, MPI_INT, other, kCount, MPI_COMM_WORLD, &requests[pending++]);
    }
    MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
    pending = 0;
    double part[kMost] = {0};
    if (rank == 2) Sleep(0.05);
    for (int other = 0; other < size; ++other) {
      if (other == rank) continue;
      MPI_Isend(part, mine, MPI_DOUBLE, other, kData, MPI_COMM_WORLD, &requests[pending++]);
    }
    for (int i = 1; i < size; ++i) {
      MPI_Recv(data, kMost, MPI_DOUBLE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) Sleep(0.2);  // writes a file
  }
  Report("rounds", kRounds);
  MPI_Finalize();
  return 0;
}
