// A master that polls every millisecond, and a worker that polls every 150 ms, as programs do that
// save CPU time; what both wait for comes from a rank that reads a pipe.
//
// rollcall-test: ranks=3
// expect: none
// rollcall-test: name=long ranks=3
// arguments: 12
// expect: none
#include "tests/faults/quiet.h"

static int Await(int source, double pause) {
  int value = 0;
  int done = 0;
  MPI_Request receiving;
  MPI_Irecv(&value, 1, MPI_INT, source, 1, MPI_COMM_WORLD, &receiving);
  for (;;) {
    MPI_Test(&receiving, &done, MPI_STATUS_IGNORE);
    if (done) return value;
    Sleep(pause);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  int value = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) {
    value = ReadFeed(StartFeed(quiet));
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  } else if (rank == 0) {
    value = Await(2, 0.001) + 1;
    MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  } else {
    value = Await(0, 0.15);
  }
  int sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
