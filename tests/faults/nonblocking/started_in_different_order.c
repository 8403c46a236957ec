// All ranks start the same two nonblocking collectives, but rank 1 in the opposite order. They must
// be started in one order on every rank; no rank returns from the wait.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=collective-mismatch culprits=1 waiting=0,2,3 op=MPI_Iallgather seq=2
// expect+: certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
#ifdef FAULT
  const int first = WorldRank() == 1;
#else
  const int first = 0;
#endif
  const double mine = 1;
  double sum = 0;
  double all[64];
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request requests[2];
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 2; ++i) {
    if (i == first) {
      MPI_Iallgather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, world, &requests[i]);  // @waiting
    } else {
      // Its root is rank 1, which sends nothing here that could pass for its part of the other.
      MPI_Ireduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 1, world, &requests[i]);  // @culprit
    }
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  Report("all", all[1]);
  MPI_Finalize();
  return 0;
}
