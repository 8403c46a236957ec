// SPDX-License-Identifier: Apache-2.0
// As takes_another_sender.c, with matched probes.
//
// schedules-test: ranks=3 finds=hang by=first
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = WorldRank();
  if (value == 0) {
    MPI_Message message;
#ifdef FAULT
    MPI_Mprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
#else
    MPI_Mprobe(2, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
#endif
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (value < 3) {
    if (value == 1) Sleep(0.1);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  Report("received from rank", value);
  MPI_Finalize();
  return 0;
}
