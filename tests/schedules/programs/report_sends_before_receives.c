// SPDX-License-Identifier: Apache-2.0
// All ranks send several small values to their neighbors before anybody receives. It stopped with
// another library at the second value.
//
// report: https://github.com/firemodels/fds/issues/1720, https://github.com/Mantevo/miniMD/pull/8
// schedules-test: ranks=3 finds=hang first=fails
#include "tests/faults/fault.h"

enum { kValues = 7 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int size = WorldSize();
  int mine[kValues] = {0};
  int theirs[kValues] = {0};
  MPI_Request requests[kValues];
  const int next = (rank + 1) % size;
  const int before = (rank + size - 1) % size;
  for (int i = 0; i < kValues; ++i) {
#ifdef FAULT
    MPI_Send(&mine[i], 1, MPI_INT, next, 1, MPI_COMM_WORLD);
#else
    MPI_Isend(&mine[i], 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[i]);
#endif
  }
  for (int i = 0; i < kValues; ++i) {
    MPI_Recv(&theirs[i], 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
#ifndef FAULT
  MPI_Waitall(kValues, requests, MPI_STATUSES_IGNORE);
#else
  (void)requests;
#endif
  Report("values", kValues);
  MPI_Finalize();
  return 0;
}
