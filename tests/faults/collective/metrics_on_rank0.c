// In the seventh step rank 0 gathers its metrics, and no other rank takes part. The branch contains
// only the gather, which pairs with the reduction of the other ranks.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=rank-conditional-collective culprits=0 waiting=1,2 op=MPI_Allgather seq=14
// expect+: certainty=proven
#include "tests/faults/fault.h"

static void LogMetrics(double loss) {
  double losses[64];
  MPI_Allgather(&loss, 1, MPI_DOUBLE, losses, 1, MPI_DOUBLE, MPI_COMM_WORLD);  // @culprit
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double loss = 1;
  for (int step = 1; step <= 8; ++step) {
    double gradient = loss / 2;
    MPI_Bcast(&gradient, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (step == 7) {
#ifdef FAULT
      if (rank == 0) LogMetrics(loss);
#else
      LogMetrics(loss + 0 * rank);
#endif
    }
    MPI_Allreduce(&gradient, &loss, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);  // @waiting
  }
  Report("loss", loss);
  MPI_Finalize();
  return 0;
}
