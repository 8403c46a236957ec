// Rank 1 reduces before the broadcast, in its own arm of a branch; the others after it. All ranks
// make both calls: none skipped one.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=collective-mismatch culprits=1 waiting=0,2,3 op=MPI_Allgather seq=1
// expect+: certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double one = 1, sum = 0, all[64];
#ifdef FAULT
  if (rank == 1) {
#else
  if (rank < 0) {
#endif
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @culprit
    MPI_Allgather(&one, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
  } else {
    MPI_Allgather(&one, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);  // @waiting
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  Report("sum", sum + all[0]);
  MPI_Finalize();
  return 0;
}
