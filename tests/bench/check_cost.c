// SPDX-License-Identifier: Apache-2.0
// A test program as tests/bench/check runs it: a fixed amount of work, in rounds that compute for
// some tens of microseconds, exchange with both neighbours and reduce.
//
//   check_cost ROUNDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWork = 20000, kHalo = 64 };

static double Compute(double value) {
  for (int i = 0; i < kWork; ++i) value = value * 0.999999 + 1e-6;
  return value;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  int rank = 0;
  int size = 0;
  double mine[kHalo] = {1};
  double theirs[kHalo];
  double total = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < rounds; ++round) {
    mine[0] = Compute(mine[0]);
    MPI_Sendrecv(mine, kHalo, MPI_DOUBLE, (rank + 1) % size, 1, theirs, kHalo, MPI_DOUBLE,
                 (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&theirs[0], &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%.6f\n", total);
  MPI_Finalize();
  return 0;
}
