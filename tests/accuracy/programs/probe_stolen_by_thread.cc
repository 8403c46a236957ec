// SPDX-License-Identifier: Apache-2.0
// Two threads of rank 0 probe and then receive. Both see the last message; one receives it, and the
// other waits for a message that nobody sends.
//
// report: open-mpi/ompi#6091
// job: ranks=2 outcome=hung
// expect: kind=p2p-unmatched culprits=0|none
// says: MPI_Recv
#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

enum { kOrders = 3, kTag = 9 };

static std::atomic<int> taken{0};
static std::atomic<int> total{0};
static std::mutex lock;

static void handle(int value) {
  total += value;
  usleep(1000);
}

static bool take_one() {
#ifdef CONTROL
  std::lock_guard<std::mutex> guard(lock);
  if (taken == kOrders) return false;
#endif
  MPI_Status status;
  MPI_Probe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &status);
  usleep(100000);  // allocates what the message needs
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  ++taken;
  handle(value);
  return true;
}

static void serve() {
  while (taken < kOrders && take_one()) {
  }
}

int main(int argc, char** argv) {
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::thread other(serve);
    serve();
    other.join();
  } else {
    for (int i = 1; i <= kOrders; ++i) MPI_Send(&i, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("total %d\n", total.load());
  MPI_Finalize();
}
