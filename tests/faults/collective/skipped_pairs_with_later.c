// The barrier that rank 2 skips pairs with its next one, and so on: every call has a partner, and
// the job hangs at the very end, far from the cause. The first misaligned number is what counts.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=2 waiting=0,1,3 op=MPI_Barrier seq=4
// expect+: certainty=proven
#include "tests/faults/fault.h"

static void Checkpoint(int rank, int step) {
#ifdef FAULT
  const int dirty = !(rank == 2 && step == 1);
#else
  const int dirty = rank >= 0 && step >= 0;
#endif
  if (dirty) {
    MPI_Barrier(MPI_COMM_WORLD);  // @waiting
  }
  MPI_Barrier(MPI_COMM_WORLD);  // @culprit
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < 4; ++step) {
    Checkpoint(rank, step);
  }
  Report("steps", 4);
  MPI_Finalize();
  return 0;
}
