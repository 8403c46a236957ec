// SPDX-License-Identifier: Apache-2.0
// Four of five ranks form a grid. A timer in the solver of the grid has a barrier of all ranks,
// which the spare rank never reaches: it waits for the result. The barrier is on the wrong
// communicator.
//
// job: ranks=5 outcome=hung
// expect: kind=rank-conditional-collective|order-inversion culprits=4|0-3|none
#include <mpi.h>
#include <stdio.h>

static int world_rank;
static MPI_Comm grid;

static double timer_start(void) {
#ifdef CONTROL
  MPI_Barrier(grid);
#else
  MPI_Barrier(MPI_COMM_WORLD);
#endif
  return MPI_Wtime();
}

static double solve(void) {
  double x = world_rank, sum = 0;
  const double start = timer_start();
  for (int it = 0; it < 4; ++it) {
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, grid);
    x = 0.25 * sum;
  }
  return MPI_Wtime() - start < 60 ? x : -1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int dims[2] = {2, 2}, periods[2] = {1, 1};
  double result = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  if (grid != MPI_COMM_NULL) result = solve();
  MPI_Bcast(&result, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (world_rank == 4) printf("%g\n", result);
  if (grid != MPI_COMM_NULL) MPI_Comm_free(&grid);
  MPI_Finalize();
  return 0;
}
