// The root is counted from one: rank 2 passes an invalid rank. MPI ends the job inside the call.
// The roots of all ranks differ, but that is no mismatch: this root is invalid by itself.
//
// rollcall-test: ranks=3 outcome=failed
// expect: kind=invalid-argument culprits=2 waiting=any op=MPI_Bcast seq=2 certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int root = 0;
#ifdef FAULT
  if (WorldRank() == 2) root = WorldSize();
#endif
  int value = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);  // @culprit
  MPI_Barrier(MPI_COMM_WORLD);
  Report("value", value);
  MPI_Finalize();
  return 0;
}
