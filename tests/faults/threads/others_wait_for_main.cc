// A ring of receives under MPI_THREAD_MULTIPLE. Each rank has two more threads that wait for a
// condition variable, which the main thread sets when it has received: none of them can help.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=p2p-deadlock culprits=0-2 waiting=none op=MPI_Recv seq=any certainty=likely
// expect+: analyze-certainty=suspected,likely lines=culprit
#include <thread>

#include "tests/faults/threads.h"

int main(int argc, char** argv) {
  InitThreads(&argc, &argv);
  const int rank = WorldRank();
  const int left = (rank + WorldSize() - 1) % WorldSize();
  const int right = (rank + 1) % WorldSize();
  Event received;
  std::thread workers[2];
  for (std::thread& worker : workers) worker = std::thread([&] { received.Wait(); });
  MPI_Barrier(MPI_COMM_WORLD);
  int got = -1;
#ifndef FAULT
  MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
#endif
  MPI_Recv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @culprit
#ifdef FAULT
  MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
#endif
  received.Set();
  for (std::thread& worker : workers) worker.join();
  Report("got", got);
  MPI_Finalize();
  return 0;
}
