// MPI_Comm_spawn is collective on the communicator of the parents; one of them skips it.
// Debian's MPICH cannot spawn.
//
// rollcall-test: ranks=3 outcome=hung mpi=openmpi survives=yes
// expect: kind=rank-conditional-collective culprits=1 waiting=0,2 op=MPI_Comm_spawn seq=1
// expect+: certainty=proven
#include "tests/faults/fault.h"

static void Help(char* program, int rank) {
  MPI_Comm helpers = MPI_COMM_NULL;
#ifdef FAULT
  if (rank == 1) return;
#else
  (void)rank;
#endif
  const MPI_Comm parents = MPI_COMM_WORLD;
  const MPI_Info info = MPI_INFO_NULL;
  int error = 0;
  MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, info, 0, parents, &helpers, &error);  // @waiting
  MPI_Barrier(helpers);
  MPI_Comm_disconnect(&helpers);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    Help(argv[0], WorldRank());
    MPI_Barrier(MPI_COMM_WORLD);  // @culprit
  } else {
    MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
  }
  MPI_Finalize();
  return 0;
}
