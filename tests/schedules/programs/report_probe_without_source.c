// SPDX-License-Identifier: Apache-2.0
// A rank probes for a message from anyone, makes room for it, and receives a message from anyone
// with the tag of this step. Of the next step, another sender's message has come first.
//
// report: https://github.com/llnl/conduit/issues/990, https://github.com/open-mpi/ompi/issues/3807
// schedules-test: ranks=3 finds=hang,failed,findings by=first schedules=6
#include "tests/faults/quiet.h"

enum { kStep = 1, kNext = 2, kMost = 64 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int data[kMost] = {0};
  if (rank == 0) {
    for (int step = kStep; step <= kNext; ++step) {
      for (int i = 1; i < WorldSize(); ++i) {
        MPI_Status status;
        int count = 0;
#ifdef FAULT
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
#else
        MPI_Probe(MPI_ANY_SOURCE, step, MPI_COMM_WORLD, &status);
#endif
        MPI_Get_count(&status, MPI_INT, &count);
        MPI_Recv(data, count, MPI_INT, MPI_ANY_SOURCE, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
  } else {
    if (rank == 2) Sleep(0.05);
    MPI_Send(data, 20, MPI_INT, 0, kStep, MPI_COMM_WORLD);
    Sleep(0.2);
    MPI_Send(data, 10, MPI_INT, 0, kNext, MPI_COMM_WORLD);
  }
  Report("steps", kNext);
  MPI_Finalize();
  return 0;
}
