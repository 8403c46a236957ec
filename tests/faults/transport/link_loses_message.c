// Rank 1 sends a message, and continues. Its network accepts no data: the kernel tells its writev()
// to try again, forever. So the message stays in rank 1, and rank 0 waits for it.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2 mpi=openmpi
// launcher: --mca btl tcp,self
// expect: kind=transport-stalled culprits=none waiting=0 op=MPI_Recv seq=any certainty=suspected
// expect+: lines=none
#include "tests/faults/transport/link.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  int value = WorldRank();
  if (value == 0) {
    MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
  } else if (value == 1) {
#ifdef FAULT
    LinkTakesNothing();
#endif
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("value", value);
  MPI_Finalize();
  return 0;
}
