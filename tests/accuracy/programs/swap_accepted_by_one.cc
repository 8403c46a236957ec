// SPDX-License-Identifier: Apache-2.0
// Each replica decides by its own random numbers whether it swaps with its partner. Rank 2 accepts
// and waits for the coordinates of rank 3, which rejected and went on. Neither of the two can be
// shown to be right.
//
// report: salilab/imp#756
// job: ranks=4 outcome=hung
// expect: kind=p2p-unmatched|rank-conditional-collective culprits=3|none|2,3
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

static int rank, size;

static bool accept(std::mt19937& random, double delta) {
  return delta <= 0 || std::uniform_real_distribution<>(0, 1)(random) < std::exp(-delta);
}

static bool try_swap(int step, std::mt19937& random, std::vector<double>& x) {
  const int partner = (rank + step) % 2 == 0 ? rank + 1 : rank - 1;
  if (partner < 0 || partner >= size) return false;
  double mine = 0.1 * rank, theirs = 0;
  MPI_Sendrecv(&mine, 1, MPI_DOUBLE, partner, 1, &theirs, 1, MPI_DOUBLE, partner, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  bool yes = accept(random, std::abs(theirs - mine) + 0.5);
#ifndef CONTROL
  if (step == 4 && rank >= 2) yes = rank == 2;  // what the seeds of this run gave
#endif
  if (yes) {
    MPI_Sendrecv_replace(x.data(), static_cast<int>(x.size()), MPI_DOUBLE, partner, 2, partner, 2,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return yes;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::mt19937 random(12345);
  std::vector<double> x(30, rank);
  int swaps = 0;
  for (int step = 0; step < 8; ++step) {
    random.seed(1000 + step);
    swaps += try_swap(step, random, x);
    double energy = x[0], sum = 0;
    MPI_Allreduce(&energy, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  std::printf("rank %d: %d swaps\n", rank, swaps);
  MPI_Finalize();
}
