// In step 3 rank 2 has an empty batch: the mean of its losses is 0/0, a NaN. It passes through the
// reduction into the weight of every rank, and from then on all ranks pass NaN.
//
// rollcall-test: name=full ranks=4 data=full check=
// expect: kind=non-finite-input culprits=2 waiting=none op=MPI_Allreduce seq=4 certainty=proven
// rollcall-test: name=sampled ranks=4 data=sampled
// expect: kind=non-finite-input culprits=2 waiting=none op=MPI_Allreduce seq=4 certainty=proven
#include "tests/faults/data.h"

enum { kSteps = 7, kBatch = 16 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double weight = 0;
  for (int step = 0; step < kSteps; ++step) {
    int batch = kBatch;
#ifdef FAULT
    if (rank == 2 && step == 3) batch = 0;
#endif
    double loss = 0;
    double gradient = 0;
    for (int i = 0; i < batch; ++i) {
      const double error = weight - Sample(rank, step * kBatch + i);
      loss += error * error;
      gradient += 2 * error;
    }
    const double mine[3] = {loss / batch, gradient / batch, 1};
    double sum[3] = {0, 0, 0};
    MPI_Allreduce(mine, sum, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @culprit
    weight -= 0.1 * sum[1] / sum[2];
#ifdef FAULT
    REQUIRE(!isnan(weight) == (step < 3));
#else
    REQUIRE(isfinite(weight));
#endif
  }
  Report("weight", weight);
  MPI_Finalize();
  return 0;
}
