// A nonblocking reduction of 100,000 elements, one of which is a NaN on rank 1 in the third step.
// The next steps are computed from other data, and are finite again.
//
// rollcall-test: ranks=4 data=full check=
// expect: kind=non-finite-input culprits=1 waiting=none op=MPI_Iallreduce seq=3 certainty=proven
#include "tests/faults/data.h"

enum { kSteps = 5, kElements = 100000, kBad = 73211 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double* mine = Buffer(kElements, sizeof(double));
  double* sum = Buffer(kElements, sizeof(double));
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kElements; ++i) mine[i] = Sample(step, i) * (rank + 1);
    double divisor = 2;
#ifdef FAULT
    if (rank == 1 && step == 2) mine[kBad] = divisor = 0;
#endif
    mine[kBad] /= divisor;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(mine, sum, kElements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,  // @culprit
                   &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < kElements; ++i) {
#ifdef FAULT
      REQUIRE(!isnan(sum[i]) == (i != kBad || step != 2));
#else
      REQUIRE(isfinite(sum[i]));
#endif
    }
  }
  Report("sum", sum[kBad]);
  free(mine);
  free(sum);
  MPI_Finalize();
  return 0;
}
