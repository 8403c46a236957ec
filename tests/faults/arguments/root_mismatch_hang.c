// Rank 2 uses itself as the root of a large reduction; the others send to rank 0.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=root-mismatch culprits=2 waiting=0,1,3 op=MPI_Reduce seq=2 certainty=proven
#include "tests/faults/fault.h"

enum { kCount = 100000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double* mine = (double*)Buffer(kCount, sizeof(double));
  double* sum = (double*)Buffer(kCount, sizeof(double));
#ifdef FAULT
  const int root = WorldRank() == 2 ? 2 : 0;
#else
  const int root = 0;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Reduce(mine, sum, kCount, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);  // @culprit @waiting
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", sum[0]);
  free(mine);
  free(sum);
  MPI_Finalize();
  return 0;
}
