// All ranks look for messages of each other without a pause, and give up at a time of their own
// clock: nothing but the clock ends this, and it always does.
//
// rollcall-test: ranks=2
// expect: none
// rollcall-test: name=long ranks=2
// arguments: 12
// expect: none
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  const int other = 1 - rank;
  int urgent = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double until = Now() + quiet;
  while (!urgent && Now() < until) {
    MPI_Iprobe(other, 7, MPI_COMM_WORLD, &urgent, MPI_STATUS_IGNORE);
  }
  int got = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, other, 1, &got, 1, MPI_INT, other, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  Report("got", got + urgent);
  MPI_Finalize();
  return 0;
}
