// Rank 3 sends fewer elements to a gather than its root expects: the rest of the root's buffer
// remains unchanged, without an error.
//
// rollcall-test: ranks=4 outcome=finished
// expect: kind=count-mismatch culprits=3 waiting=none op=MPI_Gather seq=2 certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int mine[4] = {1, 2, 3, 4};
  int all[256] = {0};
#ifdef FAULT
  const int count = WorldRank() == 3 ? 2 : 4;
#else
  const int count = WorldRank() >= 0 ? 4 : 2;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Gather(mine, count, MPI_INT, all, 4, MPI_INT, 0, MPI_COMM_WORLD);  // @culprit @waiting
  MPI_Barrier(MPI_COMM_WORLD);
  Report("all", all[3]);
  MPI_Finalize();
  return 0;
}
