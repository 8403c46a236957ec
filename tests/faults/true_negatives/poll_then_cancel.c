// Two ranks offer each other help while they work: each has a receive posted, tests it between
// pieces of work, and takes it back when the work is done and no request for help has come.
//
// rollcall-test: ranks=2
// expect: none
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  const int other = 1 - rank;
  int help = 0;
  int done = 0;
  MPI_Request receiving;
  MPI_Irecv(&help, 1, MPI_INT, other, 7, MPI_COMM_WORLD, &receiving);
  MPI_Barrier(MPI_COMM_WORLD);
  const double until = Now() + quiet + 0.3 * rank;
  while (!done && Now() < until) {
    Sleep(0.3);
    MPI_Test(&receiving, &done, MPI_STATUS_IGNORE);
  }
  if (!done) {
    MPI_Cancel(&receiving);
    MPI_Wait(&receiving, MPI_STATUS_IGNORE);
  }
  int total = 0;
  MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  Report("total", total + help);
  MPI_Finalize();
  return 0;
}
