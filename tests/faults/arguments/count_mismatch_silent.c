// Rank 1 reduces one element of two: in MPICH all ranks return without an error; Open MPI ends the
// job.
//
// rollcall-test: ranks=4 outcome=finished outcome[openmpi]=failed
// expect: kind=count-mismatch culprits=1 waiting=none op=MPI_Allreduce seq=2 certainty=proven
// expect+[openmpi]: waiting=any
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double mine[2] = {1, 1};
  double sum[2] = {0, 0};
#ifdef FAULT
  const int count = WorldRank() == 1 ? 1 : 2;
#else
  const int count = WorldRank() >= 0 ? 2 : 1;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @culprit @waiting
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", sum[0]);
  MPI_Finalize();
  return 0;
}
