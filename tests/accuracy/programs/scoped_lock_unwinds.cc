// SPDX-License-Identifier: Apache-2.0
// Rank 2 throws inside a section that a collective mutex guards. The destructor of the lock waits
// for all ranks, which wait for the message of rank 2.
//
// report: dealii/dealii#14356, geodynamics/aspect#4984
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective|p2p-unmatched|uncaught-exception culprits=2
// says: ScopedLock|CollectiveMutex
#include <mpi.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

static int rank, size;

struct CollectiveMutex {
  MPI_Request request = MPI_REQUEST_NULL;
  void lock() { MPI_Wait(&request, MPI_STATUS_IGNORE); }
  void unlock(MPI_Comm comm) {
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);  // @culprit
  }
};

struct ScopedLock {
  CollectiveMutex& mutex;
  MPI_Comm comm;
  ScopedLock(CollectiveMutex& m, MPI_Comm c) : mutex(m), comm(c) { mutex.lock(); }
  ~ScopedLock() { mutex.unlock(comm); }
};

static std::vector<int> owners(int step, int index) {
#ifndef CONTROL
  if (step == 3 && rank == 2) throw std::range_error("index out of range");
#endif
  return std::vector<int>(3, index + step);
}

static int exchange(int step, MPI_Comm comm) {
  static CollectiveMutex mutex;
  ScopedLock lock(mutex, comm);
  std::vector<int> mine = owners(step, rank), theirs(3 * size);
  std::vector<MPI_Request> requests;
  for (int r = 0; r < size; ++r) {
    requests.emplace_back();
    MPI_Irecv(&theirs[3 * r], 3, MPI_INT, r, 17, comm, &requests.back());
  }
  for (int r = 0; r < size; ++r) MPI_Send(mine.data(), 3, MPI_INT, r, 17, comm);
  MPI_Waitall(size, requests.data(), MPI_STATUSES_IGNORE);
  return theirs[3 * ((rank + 1) % size)];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int sum = 0;
  try {
    for (int step = 0; step < 5; ++step) sum += exchange(step, comm);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  std::printf("rank %d: %d\n", rank, sum);
  MPI_Comm_free(&comm);
  MPI_Finalize();
}
