// Rank 2's shard holds one batch more than every other rank's: it stays in the loop when they
// leave.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=uneven-iterations culprits=2 waiting=0,1,3 op=MPI_Allreduce seq=6
// expect+: certainty=proven
#include "tests/faults/fault.h"

__attribute__((noinline)) static double Train(int batches) {
  double loss = 1;
  for (int batch = 0; batch < batches; ++batch) {
    double sum = 0;
    MPI_Allreduce(&loss, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @culprit
    loss = sum / WorldSize();
  }
  return loss;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
#ifdef FAULT
  const int extra = WorldRank() == 2;
#else
  const int extra = 0;
#endif
  const double loss = Train(5 + extra);
  MPI_Barrier(MPI_COMM_WORLD);  // @waiting
  Report("loss", loss);
  MPI_Finalize();
  return 0;
}
