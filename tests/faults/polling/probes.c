// Two ranks probe for each other's message until it has arrived, and send their own afterwards,
// with 0, 1 or 150 ms between two probes.
//
// rollcall-test: ranks=2 outcome=hung
// arguments: 0
// expect: kind=p2p-deadlock culprits=0,1 waiting=none op=any seq=any
// expect+: certainty=suspected,likely lines=culprit
// rollcall-test: name=1ms ranks=2 outcome=hung
// arguments: 0.001
// expect: kind=p2p-deadlock culprits=0,1 waiting=none op=any seq=any
// expect+: certainty=suspected,likely lines=culprit
// rollcall-test: name=150ms ranks=2 outcome=hung stall-after=300 kill=yes
// arguments: 0.15
// expect: kind=p2p-deadlock culprits=0,1 waiting=none op=any seq=any
// expect+: certainty=suspected,likely lines=culprit
#include "tests/faults/quiet.h"

static int Receive(int source, double pause) {
  int value = 0;
  for (;;) {
    int there = 0;
    MPI_Iprobe(source, 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);  // @culprit
    if (there) break;
    if (pause > 0) Sleep(pause);
  }
  MPI_Recv(&value, 1, MPI_INT, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return value;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double pause = argc > 1 ? atof(argv[1]) : 0;
  const int rank = WorldRank();
  const int other = 1 - rank;
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef FAULT
  const int got = Receive(other, pause);
  MPI_Send(&rank, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
#else
  MPI_Request sending;
  MPI_Isend(&rank, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &sending);
  const int got = Receive(other, pause);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
#endif
  Report("got", got);
  MPI_Finalize();
  return 0;
}
