// Rank 0 finds a file missing and calls exit(3) without MPI_Abort or MPI_Finalize.
//
// rollcall-test: name=survivors ranks=4 outcome=hung
// launcher[openmpi]: --enable-recovery
// launcher[mpich]: -disable-auto-cleanup
// expect: kind=rank-died culprits=0 waiting=1-3 op=MPI_Bcast seq=2 certainty=proven
// rollcall-test: name=cleanup ranks=4 outcome=failed
// expect: kind=rank-died culprits=0 waiting=any op=any seq=any certainty=proven lines=culprit
#include "tests/faults/fault.h"

static int ReadConfiguration(int rank) {
#ifdef FAULT
  if (rank == 0) exit(3);
#endif
  return rank;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Barrier(MPI_COMM_WORLD);
  ArriveBefore(0);
  MPI_Barrier(MPI_COMM_SELF);  // @culprit
  int value = ReadConfiguration(rank);
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);  // @waiting
  Report("value", value);
  MPI_Finalize();
  return 0;
}
