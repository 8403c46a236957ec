// Rank 3 receives tag 8 from rank 0, which sent tag 7; the others wait for rank 3 in a barrier.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=p2p-unmatched culprits=3 waiting=0-2 op=MPI_Recv seq=any certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
#ifdef FAULT
  const int tag = 8;
#else
  const int tag = 7;
#endif
  int value = 5;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Send(&value, 1, MPI_INT, 3, 7, MPI_COMM_WORLD);
  } else if (rank == 3) {
    MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @culprit
  }
  MPI_Barrier(MPI_COMM_WORLD);  // @waiting
  Report("value", value);
  MPI_Finalize();
  return 0;
}
