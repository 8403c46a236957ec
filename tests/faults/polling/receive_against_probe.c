// Rank 0 waits in a receive for rank 1, which repeatedly probes for a message of rank 0 before
// it sends: one blocks, one polls.
//
// rollcall-test: ranks=2 outcome=hung
// expect: kind=p2p-deadlock culprits=0,1 waiting=none op=any seq=any
// expect+: certainty=suspected,likely lines=culprit
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (WorldRank() == 0) {
#ifndef FAULT
    MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
#endif
    MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @culprit
#ifdef FAULT
    MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
#endif
  } else {
    int there = 0;
    while (!there) {
      MPI_Iprobe(0, 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);  // @culprit
    }
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ++value;
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
  Report("value", value);
  MPI_Finalize();
  return 0;
}
