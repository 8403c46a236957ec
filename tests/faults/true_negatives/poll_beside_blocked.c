// Rank 0 waits in a receive for rank 1, which tests the receive of its next input between two
// pieces of work and needs none of it to go on.
//
// rollcall-test: ranks=2
// expect: none
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  int value = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (WorldRank() == 0) {
    MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
  } else {
    int next = 0;
    int there = 0;
    MPI_Request receiving;
    MPI_Irecv(&next, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &receiving);
    const double until = Now() + quiet;
    while (Now() < until) {
      Compute(0.4);
      MPI_Test(&receiving, &there, MPI_STATUS_IGNORE);
    }
    value = 3;
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Wait(&receiving, MPI_STATUS_IGNORE);
  }
  Report("value", value);
  MPI_Finalize();
  return 0;
}
