// Rank 1 skips one of two reductions, and its next one takes that place: it has the same number of
// bytes, but another type and operator. Every call returns, with wrong results, and the job hangs
// at the end. The mismatch of the arguments is a consequence.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=1 waiting=0,2,3 op=MPI_Allreduce seq=5
// expect+: certainty=proven
#include "tests/faults/fault.h"

static double Step(int rank, int step) {
  const float parts[2] = {1, 2};
  float sums[2] = {0, 0};
  const double error = rank + step;
  double worst = 0;
#ifdef FAULT
  if (!(rank == 1 && step == 2))
#else
  if (rank >= 0 && step >= 0)
#endif
  {
    MPI_Allreduce(parts, sums, 2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);  // @waiting
  }
  MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);  // @culprit
  return worst;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double worst = 0;
  for (int step = 0; step < 6; ++step) {
    worst = Step(rank, step);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("worst", worst);
  MPI_Finalize();
  return 0;
}
