// SPDX-License-Identifier: Apache-2.0
// As takes_another_sender.c, with a persistent receive.
//
// schedules-test: ranks=3 finds=hang by=first
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = WorldRank();
  if (value == 0) {
    MPI_Request request;
#ifdef FAULT
    const int source = MPI_ANY_SOURCE;
#else
    const int source = 2;
#endif
    MPI_Recv_init(&value, 1, MPI_INT, source, 0, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (value < 3) {
    if (value == 1) Sleep(0.1);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  Report("received from rank", value);
  MPI_Finalize();
  return 0;
}
