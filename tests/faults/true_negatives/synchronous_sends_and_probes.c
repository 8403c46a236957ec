// Each rank waits in a synchronous send, or in a probe that finds the message of one: the probe
// returns, and the receive behind it lets the send return.
//
// rollcall-test: ranks=3 check=
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int size = WorldSize();
  int token = rank;
  int sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int sender = 0; sender < size; ++sender) {
    for (int other = 0; other < size && rank == sender; ++other) {
      if (other != sender) MPI_Ssend(&token, 1, MPI_INT, other, 1 + sender, MPI_COMM_WORLD);
    }
    if (rank != sender) {
      MPI_Status status;
      MPI_Message message;
      int got = 0;
      if (sender == 0) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
      } else {
        MPI_Mprobe(sender, 1 + sender, MPI_COMM_WORLD, &message, &status);
        usleep(100000);
        MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
      }
      sum += got;
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
