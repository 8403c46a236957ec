// The root sends what it has read in one arm of an if, and the others receive it in the other. That
// is correct, and reported only on request.
//
// rollcall-test: ranks=3 outcome=finished mpi=openmpi check=--call-sites
// expect: kind=divergent-call-sites culprits=any waiting=any op=MPI_Bcast seq=1 certainty=likely
// expect+: lines=none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int config = 0;
#ifdef FAULT
  if (WorldRank() == 0) {
    config = 5;
    MPI_Bcast(&config, 1, MPI_INT, 0, MPI_COMM_WORLD);
  } else {
    MPI_Bcast(&config, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
#else
  if (WorldRank() == 0) config = 5;
  MPI_Bcast(&config, 1, MPI_INT, 0, MPI_COMM_WORLD);
#endif
  Report("config", config);
  MPI_Finalize();
  return 0;
}
