// Rank 1 iterates to a tolerance that it never reaches, without any MPI call; the others wait.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2
// expect: kind=rank-stalled culprits=1 waiting=0,2 op=MPI_Allreduce seq=2 certainty=likely
// expect+: analyze-certainty=likely,suspected
#include "tests/faults/fault.h"

__attribute__((noinline)) static double Converge(volatile double* error, double tolerance) {
  while (*error > tolerance) *error = *error * 0.5 + 1;  // @culprit
  return *error;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  volatile double error = 100;
#ifdef FAULT
  const double tolerance = WorldRank() == 1 ? 1.5 : 3;
#else
  const double tolerance = 3;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  const double mine = Converge(&error, tolerance);
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @waiting
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
