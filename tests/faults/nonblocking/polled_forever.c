// The others poll an Ibarrier with MPI_Test, which one rank never starts: the calls do not match,
// whether ranks poll or block.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=rank-conditional-collective culprits=1 waiting=any op=MPI_Ibarrier seq=2
// expect+: certainty=proven
#include "tests/faults/fault.h"

static void Drain(int rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  int done = 0;
#ifdef FAULT
  if (rank != 1)
#else
  if (rank >= 0)
#endif
    MPI_Ibarrier(MPI_COMM_WORLD, &request);  // @waiting
  while (!done) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    usleep(100);
  }
  int value = 4;
  MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);  // @culprit
  MPI_Barrier(MPI_COMM_WORLD);
  Report("value", value);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  Drain(WorldRank());
  MPI_Finalize();
  return 0;
}
