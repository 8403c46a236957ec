// SPDX-License-Identifier: Apache-2.0
// A master takes one result of each worker in a round, from any of them. In the last round worker 2
// filtered all of its samples and sent none.
//
// job: ranks=4 outcome=hung
// expect: kind=p2p-unmatched|rank-conditional-collective|uneven-iterations culprits=2
#include <mpi.h>
#include <stdio.h>

enum { kRounds = 5, kResult = 3 };

static int rank, size;

static void work(int round, double scale) {
  double sum = 0;
  int samples = 0;
  for (int i = 0; i < 10; ++i) {
    const double x = scale * (i + rank);
#ifndef CONTROL
    if (round == kRounds - 1 && rank == 2) continue; /* an outlier */
#endif
    sum += x;
    ++samples;
  }
  (void)round;
  if (samples > 0) MPI_Send(&sum, 1, MPI_DOUBLE, 0, kResult, MPI_COMM_WORLD);
}

static double collect(void) {
  double sum = 0;
  for (int i = 1; i < size; ++i) {
    double one;
    MPI_Recv(&one, 1, MPI_DOUBLE, MPI_ANY_SOURCE, kResult, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += one;
  }
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double scale = 1;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Bcast(&scale, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0)
      scale = 1 / (1 + collect());
    else
      work(round, scale);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%g\n", scale);
  MPI_Finalize();
  return 0;
}
