// Rank 0 waits for its input for longer than the test allows; the other waits for rank 0, and the
// job would end correctly later. In the control the input is available.
//
// rollcall-test: ranks=2 outcome=hung mpi=openmpi check=--timeout=3
// expect: kind=timed-out culprits=none waiting=any op=any seq=any certainty=proven lines=none
#include "tests/faults/fault.h"

static void ReadInput(unsigned seconds) { sleep(seconds); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  int sum = 0;
  int mine = 1;
#ifdef FAULT
  if (WorldRank() == 0) ReadInput(60);
#else
  if (WorldRank() == 0) ReadInput(0);
#endif
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
