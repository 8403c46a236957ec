// Rank 1 dies of a signal while it is inside a collective, in its own user-defined reduction
// operator.
//
// rollcall-test: ranks=4 outcome=hung
// launcher[openmpi]: --enable-recovery
// launcher[mpich]: -disable-auto-cleanup sh -c '"$@" || exec sleep 8' sh
// expect: kind=rank-died culprits=1 waiting=any op=any seq=any certainty=proven
// expect+: lines=culprit
#include <signal.h>

#include "tests/faults/fault.h"

static int dies;

static void Add(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  if (dies) raise(SIGBUS);
  for (int i = 0; i < *length; ++i) {
    ((double*)inout)[i] += ((double*)in)[i];
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
#ifdef FAULT
  dies = rank == 1;
#endif
  MPI_Op add;
  MPI_Op_create(Add, 1, &add);
  MPI_Barrier(MPI_COMM_WORLD);
  const double mine = rank + 1;
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, add, MPI_COMM_WORLD);  // @culprit
  MPI_Op_free(&add);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
