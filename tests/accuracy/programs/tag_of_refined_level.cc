// SPDX-License-Identifier: Apache-2.0
// The tag has the refinement level of the sender's grid. Rank 1 refines alone after the fifth step,
// and from then on sends with another tag than its neighbors expect.
//
// job: ranks=5 outcome=hung
// expect: kind=p2p-unmatched culprits=1
// says: rank 1 sent tag 23\d.*tag 22\d
#include <mpi.h>

#include <cstdio>
#include <vector>

class Grid {
 public:
  Grid(int rank, int size) : left_(rank - 1), right_(rank + 1 < size ? rank + 1 : -1) {}
  void refine() { ++level_; }
  double exchange(double mine) {
    std::vector<MPI_Request> requests;
    double ghosts[2] = {mine, mine};
    for (int side = 0; side < 2; ++side) {
      const int peer = side == 0 ? left_ : right_;
      if (peer < 0) continue;
      requests.emplace_back();
      MPI_Irecv(&ghosts[side], 1, MPI_DOUBLE, peer, 200 + 10 * neighbor_level_ + 1 - side,
                MPI_COMM_WORLD, &requests.back());
      requests.emplace_back();
      MPI_Isend(&mine, 1, MPI_DOUBLE, peer, 200 + 10 * level_ + side,  // @culprit
                MPI_COMM_WORLD, &requests.back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return (ghosts[0] + mine + ghosts[1]) / 3;
  }

 private:
  int left_, right_;
  int level_ = 2;
  int neighbor_level_ = 2;
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Grid grid(rank, size);
  double value = rank;
  for (int step = 0; step < 10; ++step) {
#ifndef CONTROL
    if (rank == 1 && step == 5) grid.refine();
#endif
    value = grid.exchange(value);
  }
  double sum = 0;
  MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%g\n", sum);
  MPI_Finalize();
}
