// Each rank has a service thread in a receive and a third thread that computes; the main thread
// waits for that one, rank 0's in a join, rank 1's for a condition variable.
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
  Event done;
  std::thread service([&] { total = Serve(service_comm); });
  std::thread worker([&] {
    Compute(quiet);
    done.Set();
  });
  if (rank == 0) {
    worker.join();
  } else {
    done.Wait();
  }
  SendToService(rank, 1 - rank, service_comm);
  SendToService(-1, 1 - rank, service_comm);
  if (worker.joinable()) worker.join();
  service.join();
  MPI_Comm_free(&service_comm);
  Report("total", total);
  MPI_Finalize();
  return 0;
}
