// Rank 1 reads through a null pointer between two collectives.
//
// rollcall-test: name=survivors ranks=4 outcome=hung
// launcher[openmpi]: --enable-recovery
// launcher[mpich]: -disable-auto-cleanup sh -c '"$@" || exec sleep 8' sh
// expect: kind=rank-died culprits=1 waiting=0,2,3 op=MPI_Allreduce seq=2 certainty=proven
// rollcall-test: name=cleanup ranks=4 outcome=failed
// expect: kind=rank-died culprits=1 waiting=any op=any seq=any certainty=proven lines=culprit
#include "tests/faults/fault.h"

static double Look(const double* volatile table) { return table[0]; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double table[1] = {3};
  MPI_Barrier(MPI_COMM_WORLD);
  ArriveBefore(1);
  MPI_Barrier(MPI_COMM_SELF);  // @culprit
#ifdef FAULT
  const double mine = Look(WorldRank() == 1 ? NULL : table);
#else
  const double mine = Look(table);
#endif
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @waiting
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
