// SPDX-License-Identifier: Apache-2.0
// The loop that receives the sizes probes for any tag. Rank 0 is slow, so that the data of rank 1
// arrive before the size of rank 2, and are received as a size.
//
// report: 4C-multiphysics/4C#2058
// job: ranks=3 outcome=failed
// expect: kind=count-mismatch|datatype-mismatch|invalid-argument culprits=0|0,1|2|1,2
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <vector>

enum { kSizeTag = 1234, kDataTag = 5678 };

static int rank, size;

static std::map<int, int> receive_sizes() {
  std::map<int, int> sizes;
#ifdef CONTROL
  const int tag = kSizeTag;
#else
  const int tag = MPI_ANY_TAG;
#endif
  while (static_cast<int>(sizes.size()) < size - 1) {
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    int n = 0;
    const int from = status.MPI_SOURCE;
    MPI_Recv(&n, 1, MPI_INT, from, status.MPI_TAG, MPI_COMM_WORLD, &status);  // @culprit
    sizes[from] = n;
  }
  return sizes;
}

static double exchange(const std::vector<double>& mine) {
  const int n = static_cast<int>(mine.size());
  std::vector<MPI_Request> requests;
  for (int to = size - 1; to >= 0; --to) {
    if (to == rank) continue;
    if (to == 0 && rank == 2) usleep(200000);  // packs the particles for rank 0
    requests.emplace_back();
    MPI_Isend(&n, 1, MPI_INT, to, kSizeTag, MPI_COMM_WORLD, &requests.back());
  }
  if (rank == 0) usleep(600000);  // another socket, another speed
  std::map<int, std::vector<double>> theirs;
  for (auto [from, count] : receive_sizes()) {
    theirs[from].resize(count);
    requests.emplace_back();
    MPI_Irecv(theirs[from].data(), count, MPI_DOUBLE, from, kDataTag, MPI_COMM_WORLD,
              &requests.back());
  }
  for (auto& one : theirs) {
    requests.emplace_back();
    MPI_Isend(mine.data(), n, MPI_DOUBLE, one.first, kDataTag, MPI_COMM_WORLD, &requests.back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  double sum = 0;
  for (auto& one : theirs)
    for (double d : one.second) sum += d;
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  const double sum = exchange(std::vector<double>(10 + rank, 1.0));
  std::printf("rank %d: %g\n", rank, sum);
  MPI_Finalize();
}
