// A ring of receives under MPI_THREAD_MULTIPLE, beside a monitor thread that wakes twice a second
// and never calls MPI.
//
// rollcall-test: ranks=3 outcome=hung stall-after=300 kill=yes
// expect: kind=p2p-deadlock culprits=0-2 waiting=none op=MPI_Recv seq=any
// expect+: certainty=suspected,likely lines=culprit
#include <thread>

#include "tests/faults/threads.h"

int main(int argc, char** argv) {
  InitThreads(&argc, &argv);
  const int rank = WorldRank();
  const int left = (rank + WorldSize() - 1) % WorldSize();
  const int right = (rank + 1) % WorldSize();
  Event stop;
  std::thread monitor([&] { stop.WaitInSteps(0.5); });
  MPI_Barrier(MPI_COMM_WORLD);
  int got = -1;
#ifndef FAULT
  MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
#endif
  MPI_Recv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @culprit
#ifdef FAULT
  MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
#endif
  stop.Set();
  monitor.join();
  Report("got", got);
  MPI_Finalize();
  return 0;
}
