// In rank 0 the main thread waits for a condition variable, which a thread sets that sleeps until
// then and never calls MPI; the others wait in a receive for what rank 0 sends thereupon.
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
  int value = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (WorldRank() == 0) {
    Event due;
    std::thread timer([&] {
      Sleep(quiet);
      due.Set();
    });
    due.Wait();
    value = 4;
    for (int rank = 1; rank < WorldSize(); ++rank) SendToService(value, rank, MPI_COMM_WORLD);
    timer.join();
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("value", value);
  MPI_Finalize();
  return 0;
}
