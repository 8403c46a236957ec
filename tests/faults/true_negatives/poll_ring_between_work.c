// A ring in which each rank computes piece by piece, and looks for its left neighbour's message
// after each piece: between two failed probes it is outside every call, and sends when its work is
// done.
//
// rollcall-test: ranks=3
// expect: none
// rollcall-test: name=long ranks=3
// arguments: 12
// expect: none
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  const int left = (rank + WorldSize() - 1) % WorldSize();
  const int right = (rank + 1) % WorldSize();
  MPI_Request sending = MPI_REQUEST_NULL;
  int sent = 0;
  int got = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = Now();
  while (!sent || got < 0) {
    Compute(0.3 + 0.2 * rank);
    if (!sent && Now() - start >= quiet) {
      MPI_Isend(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &sending);
      sent = 1;
    }
    int there = 0;
    MPI_Iprobe(left, 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    if (there) MPI_Recv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  Report("got", got);
  MPI_Finalize();
  return 0;
}
