// Both arms of a branch on the rank make the same call, from different lines and functions:
// correct.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/fault.h"

__attribute__((noinline)) static double Serve(double value) {
  double sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double sum = 0;
  for (int step = 0; step < 4; ++step) {
    if (rank == 0) {
      sum += Serve(step);
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      const double mine = rank;
      double part = 0;
      MPI_Allreduce(&mine, &part, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
