// MPI_Comm_split is a collective too: rank 0, which needs no sub-communicator, does not call it.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=0 waiting=1-3 op=MPI_Comm_split seq=2
// expect+: certainty=proven
#include "tests/faults/fault.h"

static int Workers(int rank) {
  MPI_Comm workers = MPI_COMM_NULL;
  int size = 0;
#ifdef FAULT
  if (rank != 0) {
    MPI_Comm_split(MPI_COMM_WORLD, 1, rank, &workers);  // @waiting
  }
#else
  MPI_Comm_split(MPI_COMM_WORLD, rank != 0, rank, &workers);
#endif
  MPI_Allreduce(&rank, &size, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);  // @culprit
  if (workers != MPI_COMM_NULL) MPI_Comm_free(&workers);
  return size;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("largest", Workers(WorldRank()));
  MPI_Finalize();
  return 0;
}
