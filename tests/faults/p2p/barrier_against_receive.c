// Rank 0 calls the barrier before it sends, rank 1 waits for the message before it calls the
// barrier: a ring of a collective and a receive.
//
// rollcall-test: ranks=2 outcome=hung
// expect: kind=p2p-deadlock culprits=0,1 waiting=none op=MPI_Recv seq=any
// expect+: certainty=proven lines=culprit
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double token = 1;
  if (rank == 0) {
#ifdef FAULT
    MPI_Barrier(MPI_COMM_WORLD);  // @culprit
#endif
    MPI_Send(&token, 1, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD);
#ifndef FAULT
    MPI_Barrier(MPI_COMM_WORLD);
#endif
  } else {
    MPI_Recv(&token, 1, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @culprit
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Report("token", token);
  MPI_Finalize();
  return 0;
}
