// SPDX-License-Identifier: Apache-2.0
// Rank 0 lists rank 2 as a destination, which does not list it as a source: the block for rank 2 is
// never received.
//
// report: FEniCS/dolfinx#1426
// job: ranks=3 outcome=hung
// expect: kind=p2p-unmatched|collective-mismatch|count-mismatch culprits=0|0,2
// says: neighbo|source|destination|MPI_Dist_graph_create
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

static int rank, size;

class IndexMap {
 public:
  IndexMap(MPI_Comm comm, const std::vector<int>& owners, const std::vector<int>& destinations)
      : in_(static_cast<int>(owners.size())), out_(static_cast<int>(destinations.size())) {
    MPI_Dist_graph_create_adjacent(comm, in_, owners.data(), MPI_UNWEIGHTED, out_,
                                   destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_);
  }
  ~IndexMap() { MPI_Comm_free(&graph_); }
  double scatter(int block) const {
    std::vector<double> send(static_cast<size_t>(block) * std::max(1, out_), rank),
        recv(static_cast<size_t>(block) * std::max(1, in_));
    MPI_Neighbor_alltoall(send.data(), block, MPI_DOUBLE, recv.data(), block, MPI_DOUBLE, graph_);
    return recv[0];
  }

 private:
  int in_, out_;
  MPI_Comm graph_;
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<int> neighbours;
  if (rank > 0) neighbours.push_back(rank - 1);
  if (rank + 1 < size) neighbours.push_back(rank + 1);
  std::vector<int> destinations = neighbours;
#ifndef CONTROL
  if (rank == 0) destinations.push_back(2);
#endif
  double sum = 0;
  {
    IndexMap map(MPI_COMM_WORLD, neighbours, destinations);
    for (int it = 0; it < 3; ++it) sum += map.scatter(200000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  std::printf("rank %d: %g\n", rank, sum);
  MPI_Finalize();
}
