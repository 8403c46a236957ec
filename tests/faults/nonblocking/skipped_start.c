// Rank 0 never starts the nonblocking reduction that all others wait for; its own next call is
// another collective.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=0 waiting=1-3 op=MPI_Iallreduce seq=2
// expect+: certainty=proven
#include "tests/faults/fault.h"

static double Overlap(int rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  const double mine = rank;
  double sum = 0;
#ifdef FAULT
  if (rank != 0)
#endif
    MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);  // @waiting
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);  // @culprit
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", Overlap(WorldRank()));
  MPI_Finalize();
  return 0;
}
