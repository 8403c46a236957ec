// Each rank hands its work to another thread and waits for the future's result, beside a service
// thread in a receive; rank 1's work itself ends with a message.
//
// rollcall-test: ranks=2
// expect: none
#include <future>
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
  std::future<int> work = std::async(std::launch::async, [&] {
    Compute(quiet);
    if (rank == 1) SendToService(7, 0, service_comm);
    return rank + 1;
  });
  SendToService(work.get(), 1 - rank, service_comm);
  SendToService(-1, 1 - rank, service_comm);
  service.join();
  MPI_Comm_free(&service_comm);
  Report("total", total);
  MPI_Finalize();
  return 0;
}
