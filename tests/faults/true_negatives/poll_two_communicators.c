// Each rank looks for messages on two communicators in turn, without a pause, but for a piece of
// work every thousand looks; the messages come when the work is done.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  const int right = (rank + 1) % WorldSize();
  MPI_Comm comms[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  int received = 0;
  int sum = 0;
  int sent = 0;
  MPI_Request sends[2];
  const double start = Now();
  for (int look = 0; received < 2 || !sent; ++look) {
    MPI_Status status;
    int there = 0;
    MPI_Comm comm = comms[look % 2];
    MPI_Iprobe(MPI_ANY_SOURCE, 1, comm, &there, &status);
    if (there) {
      int got = 0;
      MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, 1, comm, MPI_STATUS_IGNORE);
      sum += got;
      ++received;
    }
    if (look % 1000 == 0 && !sent) {
      Compute(0.4);
      if (Now() - start < quiet) continue;
      for (int i = 0; i < 2; ++i) MPI_Isend(&rank, 1, MPI_INT, right, 1, comms[i], &sends[i]);
      sent = 1;
    }
  }
  MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
  MPI_Comm_free(&comms[0]);
  MPI_Comm_free(&comms[1]);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
