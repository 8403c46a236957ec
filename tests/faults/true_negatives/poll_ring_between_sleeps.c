// A ring in which each rank has its receive posted and tests it now and then, asleep in between for
// 0.3 to 2 s as in a system call; a rank sends after so many looks.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  const int left = (rank + WorldSize() - 1) % WorldSize();
  const int right = (rank + 1) % WorldSize();
  const double naps[] = {0.3, 0.8, 2};
  int got = -1;
  int done = 0;
  int sent = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Request receiving;
  MPI_Irecv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &receiving);
  const double start = Now();
  while (!sent || !done) {
    Sleep(naps[rank % 3]);
    if (!done) MPI_Test(&receiving, &done, MPI_STATUS_IGNORE);
    if (!sent && Now() - start >= quiet) {
      MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
      sent = 1;
    }
  }
  Report("got", got);
  MPI_Finalize();
  return 0;
}
