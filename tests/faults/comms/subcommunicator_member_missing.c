// Ranks 0-2 form a sub-communicator with a barrier of their own. Rank 1 skips it and waits in the
// world's barrier, where rank 3 waits correctly.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=1 waiting=0,2 op=MPI_Barrier seq=2
// expect+: comm!=MPI_COMM_WORLD certainty=proven
#include "tests/faults/fault.h"

static void SynchroniseGroup(MPI_Comm group, int rank) {
  MPI_Barrier(group);
#ifdef FAULT
  if (rank != 1)
#else
  if (rank >= 0)
#endif
  {
    MPI_Barrier(group);  // @waiting
  }
  MPI_Barrier(MPI_COMM_WORLD);  // @culprit
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Comm group;
  MPI_Comm_split(MPI_COMM_WORLD, rank < 3, rank, &group);
  SynchroniseGroup(group, rank);
  int size = 0;
  MPI_Comm_size(group, &size);
  Report("group", size);
  MPI_Comm_free(&group);
  MPI_Finalize();
  return 0;
}
