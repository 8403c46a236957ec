// All ranks' main threads are in a receive, in a ring; what they wait for is sent by a second
// thread of each rank, which has called nothing before and sleeps until then.
//
// rollcall-test: ranks=3
// expect: none
// rollcall-test: name=long ranks=3
// arguments: 12
// expect: none
#include <thread>

#include "tests/faults/threads.h"

int main(int argc, char** argv) {
  InitThreads(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  const int right = (rank + 1) % WorldSize();
  const int left = (rank + WorldSize() - 1) % WorldSize();
  MPI_Barrier(MPI_COMM_WORLD);
  std::thread sender([=] {
    Sleep(quiet + 0.1 * rank);
    SendToService(rank, right, MPI_COMM_WORLD);
  });
  int got = -1;
  MPI_Recv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  sender.join();
  Report("got", got);
  MPI_Finalize();
  return 0;
}
