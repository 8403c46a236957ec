// Rank 1 runs without rollcall and skips a barrier: its trace is missing, and no rank is accused
// because of a missing trace. It stays alive outside every call until the job is ended.
//
// rollcall-test: ranks=3 outcome=hung stall-after=1
// launcher[openmpi]: sh -c 'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then unset LD_PRELOAD; fi; exec "$@"' sh
// launcher[mpich]: sh -c 'if [ "$PMI_RANK" = 1 ]; then unset LD_PRELOAD; fi; exec "$@"' sh
// expect: kind=inconclusive culprits=none waiting=0,2 op=MPI_Barrier seq=2 certainty=inconclusive
// expect+: lines=none attach-culprits=1
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef FAULT
  if (WorldRank() == 1) pause();
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  Report("ranks", WorldSize());
  MPI_Finalize();
  return 0;
}
