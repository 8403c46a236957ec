// SPDX-License-Identifier: Apache-2.0
// A coordinator asks all ranks to stop, and waits for as many answers as ranks. It counts whatever
// comes, also a status that a rank sent before it was asked, and then waits for an answer that it
// counts as taken.
//
// report: https://github.com/coin-or/CHiPPS-ALPS/issues/18
// schedules-test: ranks=3 finds=hang,findings by=first schedules=6
#include "tests/faults/quiet.h"

enum { kStatus = 1, kAsk = 2, kAnswer = 3, kGo = 4 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int others = WorldSize() - 1;
  int value = rank;
  if (rank == 0) {
    // One status of each is expected before the end is checked.
    for (int i = 0; i < others; ++i) {
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, kStatus, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 1; i <= others; ++i) MPI_Send(&value, 1, MPI_INT, i, kAsk, MPI_COMM_WORLD);
#ifdef FAULT
    const int tag = MPI_ANY_TAG;
#else
    const int tag = kAnswer;
#endif
    int answered[16] = {0};
    for (int i = 0; i < others; ++i) {
      MPI_Status status;
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
      answered[status.MPI_SOURCE] = 1;
    }
    for (int i = 1; i <= others; ++i) {
      if (answered[i]) MPI_Send(&value, 1, MPI_INT, i, kGo, MPI_COMM_WORLD);
    }
  } else {
    MPI_Send(&value, 1, MPI_INT, 0, kStatus, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 0, kAsk, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 2) Sleep(0.1);
    MPI_Send(&value, 1, MPI_INT, 0, kAnswer, MPI_COMM_WORLD);
    // A late status of rank 1, which nobody asked for.
    MPI_Request go;
    int went = 0;
    MPI_Irecv(&went, 1, MPI_INT, 0, kGo, MPI_COMM_WORLD, &go);
    if (rank == 1) {
      Sleep(0.3);
      MPI_Send(&value, 1, MPI_INT, 0, kStatus, MPI_COMM_WORLD);
    }
    MPI_Wait(&go, MPI_STATUS_IGNORE);
  }
  if (rank == 0) {
    MPI_Recv(&value, 1, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("checked", 1);
  MPI_Finalize();
  return 0;
}
