// One rank finds its own input bad, returns early from a function, and misses the collective at the
// function's end; it reaches the next one in main instead.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=3 waiting=0-2 op=MPI_Allreduce seq=2
// expect+: certainty=proven
#include "tests/faults/fault.h"

__attribute__((noinline)) static int Solve(const double* input, double* norm) {
  double scale = input[0];
  MPI_Bcast(&scale, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (input[1] < 0) {
    return -1;
  }
  const double mine = scale * input[1];
  MPI_Allreduce(&mine, norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @waiting
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double norm = 0;
#ifdef FAULT
  const double input[2] = {2, rank == 3 ? -1 : 1};
#else
  const double input[2] = {2, 1};
#endif
  const int status = Solve(input, &norm);
  MPI_Barrier(MPI_COMM_WORLD);  // @culprit
  Report("norm", status == 0 && rank >= 0 ? norm : 0);
  MPI_Finalize();
  return 0;
}
