// SPDX-License-Identifier: Apache-2.0
// Halos of a grid of 2 by 3 by MPI_Neighbor_alltoallv. Rank 4 uses two layers in one direction, and
// its neighbour expects one.
//
// job: ranks=6 outcome=failed
// expect: kind=count-mismatch culprits=4|4,5
// says: MPI_Neighbor_alltoallv
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LAYER = 64 };
static int rank;

static double exchange(MPI_Comm grid) {
  int send[4], recv[4], at[4];
  static double out[8 * LAYER], in[8 * LAYER];
  for (int side = 0; side < 4; ++side) {
    send[side] = recv[side] = LAYER;
    at[side] = 2 * side * LAYER;
  }
#ifndef CONTROL
  if (rank == 4) send[3] = 2 * LAYER;
#endif
  MPI_Neighbor_alltoallv(out, send, at, MPI_DOUBLE, in, recv, at, MPI_DOUBLE, grid);  // @culprit
  return in[0];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int dims[2] = {2, 3}, periods[2] = {0, 0};
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  double sum = 0, all = 0;
  for (int step = 0; step < 5; ++step) {
    sum += exchange(grid);
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, grid);
  }
  if (rank == 0) printf("%g\n", all);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return 0;
}
