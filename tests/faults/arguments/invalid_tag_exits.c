// MPI_ERRORS_RETURN, and the program ends itself when a call fails. The message with the invalid
// tag was never sent; the others wait for it, or for the rank.
//
// rollcall-test: ranks=3 outcome=failed
// expect: kind=invalid-argument culprits=0 waiting=any op=MPI_Send seq=any certainty=proven,likely
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int tag = 7;
#ifdef FAULT
  tag -= 20;
#endif
  int value = WorldRank();
  MPI_Barrier(MPI_COMM_WORLD);
  if (WorldRank() == 0) {
    if (MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD) != MPI_SUCCESS) exit(1);  // @culprit
  } else if (WorldRank() == 1) {
    MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("value", value);
  MPI_Finalize();
  return 0;
}
