// Rank 3 returns 0 from main without MPI_Finalize while the others wait for it. Its exit status
// alone looks like success.
//
// rollcall-test: name=survivors ranks=4 outcome=hung
// launcher[openmpi]: --enable-recovery
// launcher[mpich]: -disable-auto-cleanup
// expect: kind=rank-died culprits=3 waiting=0-2 op=MPI_Allreduce seq=2 certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double mine = WorldRank();
  double sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  ArriveBefore(3);
  MPI_Barrier(MPI_COMM_SELF);  // @culprit
#ifdef FAULT
  if (mine == 3) return 0;
#endif
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @waiting
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
