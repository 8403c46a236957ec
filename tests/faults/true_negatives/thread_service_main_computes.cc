// Each rank has a service thread that waits in a receive for whoever wants something, while the
// main thread computes and asks nothing of anybody for seconds.
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
  const int other = 1 - WorldRank();
  MPI_Comm service_comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &service_comm);
  int total = 0;
  std::thread service([&] { total = Serve(service_comm); });
  Compute(quiet);
  SendToService(5, other, service_comm);
  SendToService(-1, other, service_comm);
  service.join();
  MPI_Comm_free(&service_comm);
  Report("total", total);
  MPI_Finalize();
  return 0;
}
