// Rank 1's network accepts no more data: the kernel tells its writev() to try again, forever.
// All ranks are inside the same call with the same arguments, and no rank returns.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2 mpi=openmpi
// launcher: --mca btl tcp,self
// expect: kind=transport-stalled culprits=none waiting=0-2 op=MPI_Allreduce seq=2 certainty=likely
// expect+: lines=none
#include "tests/faults/transport/link.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef FAULT
  if (WorldRank() == 1) LinkTakesNothing();
#endif
  int sum = 1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
