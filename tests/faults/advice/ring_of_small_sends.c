// Every rank sends to its right neighbour before it receives from its left one. This works because
// MPI buffers a message of one int, which the standard does not promise; reported on request.
//
// rollcall-test: ranks=3 outcome=finished also=buffering
// expect: kind=p2p-deadlock culprits=0-2 waiting=none op=MPI_Send seq=any certainty=likely
// expect+: lines=culprit
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int left = (rank + WorldSize() - 1) % WorldSize();
  const int right = (rank + 1) % WorldSize();
  int token = rank;
  int got = -1;
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef FAULT
  MPI_Send(&token, 1, MPI_INT, right, 1, MPI_COMM_WORLD);  // @culprit
  MPI_Recv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#else
  MPI_Sendrecv(&token, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  Report("got", got);
  MPI_Finalize();
  return 0;
}
