// Rank 1's shard holds one batch less, so that it leaves the loop one iteration early.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=uneven-iterations culprits=1 waiting=0,2,3 op=MPI_Allreduce seq=9
// expect+: certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
#ifdef FAULT
  const int batches = rank == 1 ? 4 : 5;
#else
  const int batches = rank >= 0 ? 5 : 4;
#endif
  double loss = 1;
  for (int batch = 0; batch < batches; ++batch) {
    double sum = 0;
    MPI_Allreduce(&loss, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @waiting
    loss = sum / WorldSize();
    MPI_Bcast(&loss, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  double last[64];
  MPI_Gather(&loss, 1, MPI_DOUBLE, last, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);  // @culprit
  MPI_Barrier(MPI_COMM_WORLD);
  Report("loss", loss);
  MPI_Finalize();
  return 0;
}
