// Rank 1 asks MPI for its rank before MPI_Init: MPI ends it, and the others wait in MPI_Init.
//
// rollcall-test: ranks=3 outcome=failed outcome[mpich]=hung
// expect: kind=rank-died culprits=1 waiting=0,2 op=any seq=any certainty=proven
#include "tests/faults/fault.h"

static int Seed(void) {
  int rank = LaunchedAs();
#ifdef FAULT
  if (rank == 1) MPI_Comm_rank(MPI_COMM_WORLD, &rank);  // @culprit
#endif
  return rank;
}

int main(int argc, char** argv) {
  const int seed = Seed();
  MPI_Init(&argc, &argv);  // @waiting
  int sum = 0;
  MPI_Allreduce(&seed, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
