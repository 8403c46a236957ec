// SPDX-License-Identifier: Apache-2.0
// A server answers questions until a stop arrives. The stop of rank 2 may overtake the question of
// rank 1, which then gets no answer.
//
// schedules-test: ranks=3 finds=hang by=first
#include "tests/faults/quiet.h"

enum { kAsk = 1, kStop = 2, kAnswer = 3 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int value = rank;
  if (rank == 0) {
#ifdef FAULT
    int stops = 1;
#else
    int stops = 2;
#endif
    while (stops > 0) {
      MPI_Status status;
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      if (status.MPI_TAG == kStop) {
        --stops;
      } else {
        MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, kAnswer, MPI_COMM_WORLD);
      }
    }
  } else if (rank == 1) {
    MPI_Send(&value, 1, MPI_INT, 0, kAsk, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 0, kAnswer, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#ifndef FAULT
    MPI_Send(&value, 1, MPI_INT, 0, kStop, MPI_COMM_WORLD);
#endif
  } else {
    Sleep(0.1);
    MPI_Send(&value, 1, MPI_INT, 0, kStop, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("served", 1);
  MPI_Finalize();
  return 0;
}
