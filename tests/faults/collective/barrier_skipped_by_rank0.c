// Rank 0 skips a barrier that all others call, in the third step, and goes on to the reduction.
//
// rollcall-test: ranks=4 outcome=hung kill=yes
// expect: kind=rank-conditional-collective culprits=0 waiting=1-3 op=MPI_Barrier seq=5
// expect+: certainty=proven
#include "tests/faults/fault.h"

static double ExchangeHalo(int rank, int step, double residual) {
  double total = 0;
#ifdef FAULT
  const int skip = step == 2 && rank == 0;
#else
  const int skip = step < 0 && rank == 0;
#endif
  if (!skip) {
    MPI_Barrier(MPI_COMM_WORLD);  // @waiting
  }
  MPI_Allreduce(&residual, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @culprit
  return total;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double residual = 1;
  for (int step = 0; step < 5; ++step) {
    residual = ExchangeHalo(rank, step, residual / WorldSize());
  }
  Report("residual", residual);
  MPI_Finalize();
  return 0;
}
