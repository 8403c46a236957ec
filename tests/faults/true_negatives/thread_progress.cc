// A progress thread in each rank tests the receive of the other's last message, so that MPI is
// called often; the main threads compute.
//
// rollcall-test: ranks=2
// expect: none
// rollcall-test: name=long ranks=2
// arguments: 12
// expect: none
#include <thread>

#include "tests/faults/threads.h"

int main(int argc, char** argv) {
  InitThreads(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  MPI_Comm progress_comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &progress_comm);
  std::thread progress([&] {
    int last = 0;
    int done = 0;
    MPI_Request receiving;
    MPI_Irecv(&last, 1, MPI_INT, 1 - rank, 9, progress_comm, &receiving);
    while (!done) {
      MPI_Test(&receiving, &done, MPI_STATUS_IGNORE);
      std::this_thread::yield();
    }
  });
  Compute(quiet);
  double sum = 0;
  const double mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, 1 - rank, 9, progress_comm);
  progress.join();
  MPI_Comm_free(&progress_comm);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
