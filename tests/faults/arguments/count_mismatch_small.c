// Rank 2 reduces sixteen elements, the others two: MPICH waits forever, Open MPI ends the job.
//
// rollcall-test: ranks=4 outcome=hung outcome[openmpi]=failed
// expect: kind=count-mismatch culprits=2 waiting=0,1,3 op=MPI_Allreduce seq=2 certainty=proven
// expect+[openmpi]: waiting=any
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double mine[16] = {1};
  double sum[16] = {0};
#ifdef FAULT
  const int count = WorldRank() == 2 ? 16 : 2;
#else
  const int count = WorldRank() >= 0 ? 2 : 16;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @culprit @waiting
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", sum[0]);
  MPI_Finalize();
  return 0;
}
