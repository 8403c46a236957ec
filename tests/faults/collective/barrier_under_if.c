// Rank 0 alone calls a barrier, "to be safe" around its log line; the others go on to the
// reduction.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=0 waiting=1-3 op=MPI_Barrier seq=2
// expect+: certainty=proven
#include "tests/faults/fault.h"

static double Average(double mine) {
  double sum = 0;
  const int rank = WorldRank();
#ifdef FAULT
  if (rank == 0) {
    MPI_Barrier(MPI_COMM_WORLD);  // @culprit
  }
#else
  MPI_Barrier(MPI_COMM_WORLD);
#endif
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @waiting
  return sum / WorldSize() + 0 * rank;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("average", Average(WorldRank()));
  MPI_Finalize();
  return 0;
}
