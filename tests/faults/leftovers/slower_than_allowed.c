// Rank 0 computes for longer than the test may take; the other waits for it, and so it would end
// well. In the twin it is done soon.
//
// rollcall-test: ranks=2 outcome=hung mpi=openmpi "check=--timeout 1"
// expect: kind=timed-out culprits=none waiting=any op=any seq=any certainty=proven lines=none
#include <time.h>

#include "tests/faults/fault.h"

static void Compute(int seconds) {
  const time_t end = time(NULL) + seconds;
  while (time(NULL) < end) {
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  int sum = 0;
  int mine = 1;
#ifdef FAULT
  if (WorldRank() == 0) Compute(60);
#else
  if (WorldRank() == 0) Compute(0);
#endif
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
