// Rank 1 sends itself tag 8 and receives tag 7 from itself; the others wait for it in a barrier.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=p2p-unmatched culprits=1 waiting=0,2 op=MPI_Recv seq=any certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
#ifdef FAULT
  const int tag = 8;
#else
  const int tag = 7;
#endif
  int sent = 5;
  int got = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Request request;
    MPI_Isend(&sent, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &request);
    MPI_Recv(&got, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @culprit
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // @waiting
  Report("got", got);
  MPI_Finalize();
  return 0;
}
