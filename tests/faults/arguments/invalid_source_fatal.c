// A receive from a rank that the communicator does not have, on the rank that others wait for.
//
// rollcall-test: ranks=2 outcome=failed
// expect: kind=invalid-argument culprits=1 waiting=any op=MPI_Recv seq=any certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = 5;
  MPI_Barrier(MPI_COMM_WORLD);
  if (WorldRank() == 1) {
    int from = 0;
#ifdef FAULT
    from += 9;
#endif
    MPI_Recv(&value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @culprit
  } else {
    MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("value", value);
  MPI_Finalize();
  return 0;
}
