// A monitor thread in each rank wakes twice a second and never calls MPI; the main thread of rank 0
// computes, those of the others wait for its message, and a service thread waits besides.
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
  MPI_Comm service_comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &service_comm);
  Event stop;
  int total = 0;
  std::thread monitor([&] { stop.WaitInSteps(0.5); });
  std::thread service([&] { total = Serve(service_comm); });
  int value = 3;
  if (rank == 0) {
    Compute(quiet);
    for (int other = 1; other < WorldSize(); ++other) SendToService(value, other, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    SendToService(value, 0, service_comm);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  SendToService(-1, (rank + 1) % WorldSize(), service_comm);
  service.join();
  stop.Set();
  monitor.join();
  MPI_Comm_free(&service_comm);
  Report("total", total);
  MPI_Finalize();
  return 0;
}
