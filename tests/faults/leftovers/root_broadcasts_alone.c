// At the end rank 0 broadcasts that it is done, but the others have already left: a root need not
// wait for them. MPI is finalized by an exit handler, as by libraries that initialise it.
//
// rollcall-test: ranks=4 outcome=finished mpi=openmpi check=--fail-on=errors
// expect: kind=unbalanced-collectives culprits=0 waiting=any op=MPI_Bcast seq=4 certainty=proven
// expect+: lines=culprit
#include "tests/faults/fault.h"

static void Close(void) { MPI_Finalize(); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  atexit(Close);
  double loss = 1;
  for (int step = 0; step < 3; ++step) {
    double sum = 0;
    MPI_Allreduce(&loss, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    loss = sum / WorldSize();
  }
  Report("loss", loss);
  int done = 1;
#ifdef FAULT
  if (WorldRank() == 0)
#endif
    MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);  // @culprit
  return 0;
}
