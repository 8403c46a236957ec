// Rank 2 reduces half as many elements as the others: messages are truncated, and MPI ends the job.
//
// rollcall-test: ranks=4 outcome=failed
// expect: kind=count-mismatch culprits=2 waiting=any op=MPI_Allreduce seq=2 certainty=proven
#include "tests/faults/fault.h"

enum { kCount = 100000 };

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
  MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @culprit @waiting
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", sum[0]);
  free(mine);
  free(sum);
  MPI_Finalize();
  return 0;
}
