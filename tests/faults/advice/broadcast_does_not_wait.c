// Rank 0 broadcasts and then sends; rank 1 receives before it calls the broadcast. This works only
// because the root of a small broadcast does not wait for the others, which the standard does not
// promise (MPI 4.0, 6.14).
//
// rollcall-test: ranks=2 outcome=finished also=buffering
// expect: kind=p2p-deadlock culprits=0,1 waiting=none op=MPI_Bcast seq=any certainty=likely
// expect+: lines=culprit
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int token = rank;
  int got = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);  // @culprit
    MPI_Send(&token, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  } else {
#ifdef FAULT
    MPI_Recv(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @culprit
    MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
#else
    MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#endif
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("token", token);
  MPI_Finalize();
  return 0;
}
