// Rank 2 has no work, finalizes, and leaves; the others wait for it in the work's collective, far
// from where it left.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=finalized-early culprits=2 waiting=0,1,3 op=MPI_Allreduce seq=2 certainty=proven
#include "tests/faults/fault.h"

__attribute__((noinline)) static double Relax(double mine) {
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @waiting
  return sum;
}

__attribute__((noinline)) static double Work(double mine) { return Relax(mine) + 1; }

__attribute__((noinline)) static void Leave(void) {
  MPI_Finalize();  // @culprit
  exit(0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef FAULT
  if (rank == 2) Leave();
#endif
  const double result = Work(rank);
  Report("result", result);
  Leave();
}
