// A sparse exchange of unknown size (NBX, as in PETSc): synchronous sends, probes, and a
// nonblocking barrier that each rank starts when its sends are received. One rank comes late,
// another is slow to receive.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/quiet.h"

static int Exchange(MPI_Comm comm, double slow) {
  const int rank = WorldRank();
  MPI_Request sending;
  MPI_Request barrier = MPI_REQUEST_NULL;
  MPI_Issend(&rank, 1, MPI_INT, (rank + 1) % WorldSize(), 1, comm, &sending);
  int sum = 0;
  int in_barrier = 0;
  int done = 0;
  while (!done) {
    MPI_Status status;
    int there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 1, comm, &there, &status);
    if (there) {
      int got = 0;
      Compute(slow);
      MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, 1, comm, MPI_STATUS_IGNORE);
      sum += got + 1;
    }
    if (in_barrier) {
      MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
    } else {
      MPI_Test(&sending, &in_barrier, MPI_STATUS_IGNORE);
      if (in_barrier) MPI_Ibarrier(comm, &barrier);
    }
  }
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  int total = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int round = 0; round < 2; ++round) {
    if (rank == 1) Compute(quiet / 4);
    total += Exchange(comm, rank == 2 ? quiet / 4 : 0);
  }
  MPI_Comm_free(&comm);
  Report("total", total);
  MPI_Finalize();
  return 0;
}
