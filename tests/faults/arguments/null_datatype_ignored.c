// MPI_ERRORS_RETURN, and the program ignores return codes: rank 1's datatype was never made, its
// MPI_Bcast took no part, and it continues to the next call, where it waits for the others, which
// wait for it.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=invalid-argument culprits=1 waiting=0,2 op=MPI_Allreduce seq=2 certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Datatype type = MPI_INT;
#ifdef FAULT
  if (WorldRank() == 1) type = MPI_DATATYPE_NULL;
#endif
  const int mine = 1;
  int sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &sum, 1, type, MPI_SUM, MPI_COMM_WORLD);  // @culprit @waiting
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
