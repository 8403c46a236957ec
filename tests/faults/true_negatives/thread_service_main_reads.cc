// Each rank has a service thread in a receive; the main thread of one is asleep, that of the other
// reads a pipe. Nothing in the job moves until they are done.
//
// rollcall-test: ranks=2
// expect: none
#include <thread>

#include "tests/faults/threads.h"

int main(int argc, char** argv) {
  InitThreads(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  MPI_Comm service_comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &service_comm);
  int total = 0;
  std::thread service([&] { total = Serve(service_comm); });
  int value = 1;
  if (rank == 0) {
    Sleep(quiet);
  } else {
    value = ReadFeed(StartFeed(quiet));
  }
  SendToService(value, 1 - rank, service_comm);
  SendToService(-1, 1 - rank, service_comm);
  service.join();
  MPI_Comm_free(&service_comm);
  Report("total", total);
  MPI_Finalize();
  return 0;
}
