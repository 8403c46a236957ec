// The parents send a message to each process that they spawned but the last one, and wait for all
// of them in MPI_Comm_disconnect. Debian's MPICH cannot spawn.
//
// rollcall-test: ranks=2 outcome=hung mpi=openmpi survives=yes stall-after=4
// expect: kind=p2p-unmatched culprits=none waiting=1 op=MPI_Recv seq=any
// expect+: certainty=suspected
#include "tests/faults/fault.h"

enum { kChildren = 2 };

static void Work(MPI_Comm parents) {
  int task = 0;
  MPI_Recv(&task, 1, MPI_INT, 0, 5, parents, MPI_STATUS_IGNORE);  // @waiting
}

static void Spawn(char* program, MPI_Comm* children) {
  MPI_Comm_spawn(program, MPI_ARGV_NULL, kChildren, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children,
                 MPI_ERRCODES_IGNORE);
  if (WorldRank() != 0) return;
  int tasks = kChildren;
#ifdef FAULT
  --tasks;
#endif
  for (int child = 0; child < tasks; ++child) {
    MPI_Send(&child, 1, MPI_INT, child, 5, *children);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_get_parent(&other);
  if (other != MPI_COMM_NULL) {
    Work(other);
  } else {
    Spawn(argv[0], &other);
  }
  MPI_Comm_disconnect(&other);
  MPI_Finalize();
  return 0;
}
