// Rank 1 receives half of what rank 0 sends: the message is truncated, and MPI ends the job.
//
// rollcall-test: ranks=3 outcome=failed
// expect: kind=count-mismatch culprits=0,1 waiting=any op=MPI_Recv seq=any certainty=proven
// expect+: lines=culprit
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
#ifdef FAULT
  const int count = 2;
#else
  const int count = 4;
#endif
  int value[4] = {1, 2, 3, 4};
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Send(value, 4, MPI_INT, 1, 7, MPI_COMM_WORLD);  // @culprit
  } else if (rank == 1) {
    MPI_Recv(value, count, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @culprit
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("value", value[3]);
  MPI_Finalize();
  return 0;
}
