// Rank 1 was given one batch less than the others. The function that counted the batches returned
// before the loop began, and rank 1 has left the loop: only the recorded value shows why.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=uneven-iterations culprits=1 waiting=0,2,3 op=MPI_Allreduce seq=5
// expect+: certainty=proven values=batches:4/5
#include "proto/rollcall.h"
#include "tests/faults/fault.h"

static int CountBatches(int rank) {
#ifdef FAULT
  const int batches = rank == 1 ? 4 : 5;
#else
  const int batches = rank >= 0 ? 5 : 4;
#endif
  rollcall_value("batches", batches);
  rollcall_value("size of a batch", sizeof(double));
  return batches;
}

static double Train(int batches) {
  double loss = 1;
  for (int batch = 0; batch < batches; ++batch) {
    double sum = 0;
    MPI_Allreduce(&loss, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @waiting
    loss = sum / WorldSize();
  }
  return loss;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double loss = Train(CountBatches(WorldRank()));
  MPI_Barrier(MPI_COMM_WORLD);  // @culprit
  Report("loss", loss);
  MPI_Finalize();
  return 0;
}
