// Data-parallel training in which nobody divides the data: all ranks read the same shard, and the
// gradients that they average are the same. In the control each rank has its own shard.
//
// rollcall-test: ranks=4 data=full check=
// expect: kind=identical-inputs culprits=any waiting=none op=MPI_Allreduce seq=any lines=none
// expect+: certainty=suspected
#include "tests/faults/data.h"

enum { kSteps = 20, kWeights = 256 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
#ifdef FAULT
  const int shard = 0;
#else
  const int shard = WorldRank();
#endif
  double weights[kWeights] = {0};
  double mine[kWeights];
  double sum[kWeights];
  for (int step = 0; step < kSteps; ++step) {
    const unsigned sample = shard * kSteps + step;
    double error = -1;
    for (int i = 0; i < kWeights; ++i) error += weights[i] * Sample(sample, i);
    for (int i = 0; i < kWeights; ++i) mine[i] = 2 * error * Sample(sample, i);
    MPI_Allreduce(mine, sum, kWeights, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @culprit
    for (int i = 0; i < kWeights; ++i) weights[i] -= 0.001 * sum[i] / 4;
  }
  Report("weight", weights[0]);
  MPI_Finalize();
  return 0;
}
