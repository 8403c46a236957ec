// MPI_ERRORS_RETURN, as mpi4py sets it: rank 2 gives less room than the root sends, gets an error
// and leaves, as after an exception. The counts are the fault; that the others wait for rank 2
// afterwards is a consequence.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=count-mismatch culprits=2 waiting=any op=MPI_Bcast seq=2 certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int count = 40;
#ifdef FAULT
  if (WorldRank() == 2) count = 20;
#endif
  int values[40] = {0};
  int sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (MPI_Bcast(values, count, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS) {  // @culprit @waiting
    for (int step = 0; step < 3; ++step) {
      const int mine = step;
      MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    Report("sum", sum);
  }
  MPI_Finalize();
  return 0;
}
