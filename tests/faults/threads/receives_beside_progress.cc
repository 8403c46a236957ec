// A ring of receives under MPI_THREAD_MULTIPLE, with a progress thread in each rank that polls
// continuously for messages of its own communicator; no rank sends any before the ring is
// complete.
//
// rollcall-test: ranks=2 outcome=hung
// expect: kind=p2p-deadlock culprits=0,1 waiting=none op=any seq=any
// expect+: certainty=suspected,likely lines=none
#include <thread>

#include "tests/faults/threads.h"

int main(int argc, char** argv) {
  InitThreads(&argc, &argv);
  const int rank = WorldRank();
  const int other = 1 - rank;
  MPI_Comm progress_comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &progress_comm);
  std::thread progress([&] {
    int there = 0;
    while (!there) MPI_Iprobe(other, 9, progress_comm, &there, MPI_STATUS_IGNORE);
    MPI_Recv(nullptr, 0, MPI_INT, other, 9, progress_comm, MPI_STATUS_IGNORE);
  });
  int got = -1;
#ifndef FAULT
  MPI_Send(&rank, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
#endif
  MPI_Recv(&got, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#ifdef FAULT
  MPI_Send(&rank, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
#endif
  MPI_Send(nullptr, 0, MPI_INT, other, 9, progress_comm);
  progress.join();
  MPI_Comm_free(&progress_comm);
  Report("got", got);
  MPI_Finalize();
  return 0;
}
