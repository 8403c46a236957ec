// The collective is called at the end of a deep recursion, under a condition on the rank.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=1 waiting=0,2,3 op=MPI_Reduce seq=2
// expect+: certainty=proven
#include "tests/faults/fault.h"

__attribute__((noinline)) static double Descend(int rank, int depth) {
  if (depth > 0) {
    return Descend(rank, depth - 1) + 1;
  }
  double sum = 0;
  const double mine = rank;
#ifdef FAULT
  if (rank != 1)
#else
  if (rank != -1)
#endif
  {
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);  // @waiting
  }
  MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);  // @culprit
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", Descend(WorldRank(), 20));
  MPI_Finalize();
  return 0;
}
