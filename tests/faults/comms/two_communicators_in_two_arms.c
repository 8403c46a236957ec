// Rank 0 reduces on the first communicator and then on the second; the others, in the other arm of
// a branch, on the second first. Each side makes both calls, and waits for the other.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=order-inversion culprits=0 waiting=1,2 op=MPI_Allreduce seq=1
// expect+: comm!=MPI_COMM_WORLD certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Comm rows, columns;
  MPI_Comm_dup(MPI_COMM_WORLD, &rows);
  MPI_Comm_dup(MPI_COMM_WORLD, &columns);
#ifdef FAULT
  const int first = rank == 0;
#else
  const int first = rank >= 0;
#endif
  double one = 1, sum = 0, largest = 0;
  if (first) {
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, rows);  // @culprit
    MPI_Allreduce(&one, &largest, 1, MPI_DOUBLE, MPI_MAX, columns);
  } else {
    MPI_Allreduce(&one, &largest, 1, MPI_DOUBLE, MPI_MAX, columns);  // @waiting
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, rows);
  }
  Report("sum", sum + largest);
  MPI_Comm_free(&rows);
  MPI_Comm_free(&columns);
  MPI_Finalize();
  return 0;
}
