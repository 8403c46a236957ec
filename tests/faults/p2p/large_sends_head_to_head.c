// Two neighbours send a large message to each other before they receive: no library buffers so
// much.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=p2p-deadlock culprits=0,1 waiting=2 op=MPI_Send seq=any certainty=likely,proven
// expect+: lines=culprit
#include "tests/faults/fault.h"

enum { kCount = 4 << 20 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double* mine = Buffer(kCount, sizeof(*mine));
  double* theirs = Buffer(kCount, sizeof(*theirs));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank < 2) {
    const int neighbour = 1 - rank;
#ifdef FAULT
    MPI_Send(mine, kCount, MPI_DOUBLE, neighbour, 3, MPI_COMM_WORLD);  // @culprit
    MPI_Recv(theirs, kCount, MPI_DOUBLE, neighbour, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#else
    MPI_Sendrecv(mine, kCount, MPI_DOUBLE, neighbour, 3, theirs, kCount, MPI_DOUBLE, neighbour, 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#endif
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("halo", theirs[0]);
  free(mine);
  free(theirs);
  MPI_Finalize();
  return 0;
}
