// A ring in which each rank tests its receive until it is complete, and sends afterwards: a ring of
// waits, with 0, 1 or 150 ms between two tests.
//
// rollcall-test: ranks=3 outcome=hung
// arguments: 0
// expect: kind=p2p-deadlock culprits=0-2 waiting=none op=any seq=any
// expect+: certainty=suspected,likely lines=culprit
// rollcall-test: name=1ms ranks=3 outcome=hung stall-after=300 kill=yes
// arguments: 0.001
// expect: kind=p2p-deadlock culprits=0-2 waiting=none op=any seq=any
// expect+: certainty=suspected,likely lines=culprit
// rollcall-test: name=150ms ranks=3 outcome=hung
// arguments: 0.15
// expect: kind=p2p-deadlock culprits=0-2 waiting=none op=any seq=any
// expect+: certainty=suspected,likely lines=culprit
#include "tests/faults/quiet.h"

static void Await(MPI_Request* request, double pause) {
  int done = 0;
  for (;;) {
    MPI_Test(request, &done, MPI_STATUS_IGNORE);  // @culprit
    if (done) return;
    if (pause > 0) Sleep(pause);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double pause = argc > 1 ? atof(argv[1]) : 0;
  const int rank = WorldRank();
  const int left = (rank + WorldSize() - 1) % WorldSize();
  const int right = (rank + 1) % WorldSize();
  int got = -1;
  MPI_Request receiving;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Irecv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &receiving);
#ifdef FAULT
  Await(&receiving, pause);
  MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
#else
  MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
  Await(&receiving, pause);
#endif
  Report("got", got);
  MPI_Finalize();
  return 0;
}
