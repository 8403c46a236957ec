// A reduction is overlapped with work: it is tested now and then to make progress, and one rank
// starts its part late.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/faults/quiet.h"

static double Overlapped(double mine, double piece) {
  double sum = 0;
  int done = 0;
  MPI_Request reducing;
  MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &reducing);
  while (!done) {
    Compute(piece);
    MPI_Test(&reducing, &done, MPI_STATUS_IGNORE);
  }
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  double sum = 0;
  for (int round = 0; round < 2; ++round) {
    if (rank == round) Compute(quiet / 2);
    sum += Overlapped(rank + round, rank == 2 ? 0.3 : 1e-4);
  }
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
