// Rank 0 reports every tenth step by a collective call after the call of the step, in the same
// loop: it did not leave the loop.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=0 waiting=1-3 op=MPI_Allgather seq=11
// expect+: certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double loss = 1, all[64];
  for (int step = 1; step <= 20; ++step) {
    double sum = 0;
    MPI_Allreduce(&loss, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @waiting
    loss = sum / WorldSize();
#ifdef FAULT
    if (WorldRank() == 0 && step % 10 == 0) {
#else
    if (step % 10 == 0) {
#endif
      MPI_Allgather(&loss, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);  // @culprit
    }
  }
  Report("loss", loss);
  MPI_Finalize();
  return 0;
}
