// Rank 2 contributes half as many elements to a reduction: Open MPI waits for the rest forever,
// MPICH ends the job.
//
// rollcall-test: ranks=4 outcome=hung outcome[mpich]=failed
// expect: kind=count-mismatch culprits=2 waiting=0,1,3 op=MPI_Reduce seq=2 certainty=proven
// expect+[mpich]: waiting=any
#include "tests/faults/fault.h"

enum { kCount = 1000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double* mine = (double*)Buffer(kCount, sizeof(double));
  double* sum = (double*)Buffer(kCount, sizeof(double));
#ifdef FAULT
  const int count = WorldRank() == 2 ? kCount / 2 : kCount;
#else
  const int count = kCount;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Reduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);  // @culprit @waiting
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", sum[0]);
  free(mine);
  free(sum);
  MPI_Finalize();
  return 0;
}
