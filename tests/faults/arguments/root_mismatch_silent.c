// Rank 2 uses itself as the root of a small broadcast: all return, and rank 2 continues with
// another value than the rest.
//
// rollcall-test: ranks=4 outcome=finished
// expect: kind=root-mismatch culprits=2 waiting=none op=MPI_Bcast seq=2 certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = WorldRank() + 40;
#ifdef FAULT
  const int root = WorldRank() == 2 ? 2 : 0;
#else
  const int root = 0;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);  // @culprit @waiting
  MPI_Barrier(MPI_COMM_WORLD);
  Report("value", value);
  MPI_Finalize();
  return 0;
}
