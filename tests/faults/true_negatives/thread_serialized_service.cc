// MPI_THREAD_SERIALIZED: a service thread takes the lock, looks for messages and gives it back,
// every millisecond; the main thread computes, and takes the lock for its own calls.
//
// rollcall-test: ranks=2
// expect: none
#include <thread>

#include "tests/faults/threads.h"

namespace {

std::mutex mpi;

// True once the message is there.
bool Look(int* value) {
  const std::lock_guard<std::mutex> guard(mpi);
  MPI_Status status;
  int there = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &there, &status);
  if (there) MPI_Recv(value, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD, &status);
  return there != 0;
}

}  // namespace

int main(int argc, char** argv) {
  InitThreads(&argc, &argv, MPI_THREAD_SERIALIZED);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  int got = -1;
  std::thread service([&] {
    while (!Look(&got)) Sleep(0.001);
  });
  Compute(quiet);
  MPI_Request sent = MPI_REQUEST_NULL;
  {
    const std::lock_guard<std::mutex> guard(mpi);
    MPI_Isend(&rank, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &sent);
  }
  service.join();
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  Report("got", got);
  MPI_Finalize();
  return 0;
}
