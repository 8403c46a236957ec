// The main threads are in a receive. A second thread of rank 0 reads a pipe, and begins a third one
// for what it has read, as servers do: only that one sends.
//
// rollcall-test: ranks=2
// expect: none
#include <thread>

#include "tests/faults/threads.h"

int main(int argc, char** argv) {
  InitThreads(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  MPI_Barrier(MPI_COMM_WORLD);
  std::thread reader;
  if (rank == 0) {
    reader = std::thread([quiet] {
      const int value = ReadFeed(StartFeed(quiet));
      std::thread([value] { SendToService(value, 1, MPI_COMM_WORLD); }).join();
    });
  }
  int got = -1;
  MPI_Recv(&got, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) SendToService(got, 0, MPI_COMM_WORLD);
  if (rank == 0) reader.join();
  Report("got", got);
  MPI_Finalize();
  return 0;
}
