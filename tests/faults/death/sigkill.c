// Rank 2 is killed, as by the kernel for want of memory. In the first variant the launcher lets the
// others go on, and they wait for the dead rank; in the second it kills them at once.
//
// rollcall-test: name=survivors ranks=4 outcome=hung kill=yes
// launcher[openmpi]: --enable-recovery
// launcher[mpich]: -disable-auto-cleanup sh -c '"$@" || exec sleep 8' sh
// expect: kind=rank-died culprits=2 waiting=0,1,3 op=MPI_Barrier seq=3 certainty=proven
// Under Open MPI each rank has a parent that sees its end, and knows a clean-up. Hydra kills the
// others within the same millisecond: the order is chance, and the verdict rests on who waited for
// whom.
// rollcall-test: name=cleanup ranks=4 outcome=failed
// expect: kind=rank-died culprits=2 waiting=any op=any seq=any certainty=proven lines=culprit
// expect+[mpich]: certainty=proven,likely
#include <signal.h>

#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int step = rank;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(&step, 1, MPI_INT, 0, MPI_COMM_WORLD);
  ArriveBefore(2);
  MPI_Barrier(MPI_COMM_SELF);  // @culprit
#ifdef FAULT
  if (rank == 2) kill(getpid(), SIGKILL);
#endif
  MPI_Barrier(MPI_COMM_WORLD);  // @waiting
  Report("step", step);
  MPI_Finalize();
  return 0;
}
