// SPDX-License-Identifier: Apache-2.0
// A weighted graph of a partition: rank 3 drops neighbours with a small weight from its sources,
// and rank 1 does not drop them from its destinations, so it sends rank 3 a block that is never
// received.
//
// job: ranks=5 outcome=hung
// expect: kind=p2p-unmatched culprits=3|1,3
// says: rank 1 lists rank 3 as a destination
#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

int rank, size;

struct Neighbours {
  std::vector<int> ranks, weights;
};

int weight(int a, int b) { return (a + b) % 4 == 0 ? 1 : 10; }

Neighbours partition(int smallest) {
  Neighbours found;
  for (int other = 0; other < size; ++other) {
    if (other == rank || weight(rank, other) < smallest) continue;
    found.ranks.push_back(other);
    found.weights.push_back(weight(rank, other));
  }
  return found;
}

class Exchange {
 public:
  Exchange(const Neighbours& sources, const Neighbours& destinations)
      : sources_(sources.ranks.size()) {
    MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, static_cast<int>(sources.ranks.size()), sources.ranks.data(),
        sources.weights.data(), static_cast<int>(destinations.ranks.size()),
        destinations.ranks.data(), destinations.weights.data(), MPI_INFO_NULL, 0, &graph_);
  }
  ~Exchange() { MPI_Comm_free(&graph_); }
  double operator()(const std::vector<double>& block) const {
    std::vector<double> in(block.size() * sources_ + 1);
    MPI_Neighbor_allgather(block.data(), static_cast<int>(block.size()), MPI_DOUBLE, in.data(),
                           static_cast<int>(block.size()), MPI_DOUBLE, graph_);
    return in[0];
  }

 private:
  size_t sources_;
  MPI_Comm graph_ = MPI_COMM_NULL;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double sum = 0;
  {
    int smallest = 0;
#ifndef CONTROL
    if (rank == 3) smallest = 5;
#endif
    const Exchange exchange(partition(smallest), partition(0));
    for (int step = 0; step < 4; ++step) sum += exchange(std::vector<double>(300000, rank));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("%g\n", sum);
  MPI_Finalize();
}
