// Rank 2 sends ints into a reduction of doubles: Open MPI waits for the rest of the data forever,
// MPICH ends the job.
//
// rollcall-test: ranks=4 outcome=hung outcome[mpich]=failed
// expect: kind=datatype-mismatch culprits=2 waiting=0,1,3 op=MPI_Reduce seq=2 certainty=proven
// expect+[mpich]: waiting=any
#include "tests/faults/fault.h"

enum { kCount = 1000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double* mine = (double*)Buffer(kCount, sizeof(double));
  double* sum = (double*)Buffer(kCount, sizeof(double));
#ifdef FAULT
  const MPI_Datatype type = WorldRank() == 2 ? MPI_INT : MPI_DOUBLE;
#else
  const MPI_Datatype type = MPI_DOUBLE;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Reduce(mine, sum, kCount, type, MPI_SUM, 0, MPI_COMM_WORLD);  // @culprit @waiting
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", sum[0]);
  free(mine);
  free(sum);
  MPI_Finalize();
  return 0;
}
