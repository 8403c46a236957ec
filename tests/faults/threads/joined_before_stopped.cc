// Each rank waits for the end of its own service thread before it stops that of the other: both
// service threads are in a receive, and both main threads in a join.
//
// rollcall-test: ranks=2 outcome=hung
// expect: kind=p2p-deadlock culprits=0,1 waiting=none op=MPI_Recv seq=any
// expect+: certainty=suspected,likely lines=none
#include <thread>

#include "tests/faults/threads.h"

int main(int argc, char** argv) {
  InitThreads(&argc, &argv);
  const int rank = WorldRank();
  MPI_Comm service_comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &service_comm);
  int total = 0;
  std::thread service([&] { total = Serve(service_comm); });
  SendToService(rank + 1, 1 - rank, service_comm);
#ifdef FAULT
  service.join();
  SendToService(-1, 1 - rank, service_comm);
#else
  SendToService(-1, 1 - rank, service_comm);
  service.join();
#endif
  MPI_Comm_free(&service_comm);
  Report("total", total);
  MPI_Finalize();
  return 0;
}
