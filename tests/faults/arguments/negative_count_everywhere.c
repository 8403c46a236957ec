// A count that overflowed, on every rank alike: MPI ends the job inside the call. All got it,
// whoever is ended first. Under MPICH the launcher may end a rank before it comes to the call.
//
// rollcall-test: ranks=2 outcome=failed
// expect: kind=invalid-argument culprits=0,1 culprits[mpich]=any waiting=any op=MPI_Bcast seq=2 certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int count = 2;
#ifdef FAULT
  count -= 5;
#endif
  int values[2] = {1, 2};
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(values, count, MPI_INT, 0, MPI_COMM_WORLD);  // @culprit
  MPI_Barrier(MPI_COMM_WORLD);
  Report("value", values[1]);
  MPI_Finalize();
  return 0;
}
