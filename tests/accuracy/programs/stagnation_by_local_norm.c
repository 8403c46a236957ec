// SPDX-License-Identifier: Apache-2.0
// The stagnation test uses the norm of the local part. Rank 2 stops its iteration first, while its
// neighbours in the grid of processes wait for its halo.
//
// report: SciML/NonlinearSolve.jl#1310
// job: ranks=4 outcome=hung
// expect: kind=uneven-iterations culprits=2
#include <math.h>
#include <mpi.h>
#include <stdio.h>

static int rank;
static MPI_Comm grid;

static void exchange(const double* edge, double* halo) {
  MPI_Neighbor_alltoall(edge, 1, MPI_DOUBLE, halo, 1, MPI_DOUBLE, grid);
}

static double norm(double x) {
  double all = fabs(x);
#ifdef CONTROL
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_MAX, grid);
#endif
  return all;
}

static int solve(double* x) {
  for (int it = 0; it < 1000; ++it) {
    double edge[4], halo[4] = {0};
    for (int i = 0; i < 4; ++i) edge[i] = *x;
    exchange(edge, halo);
    const double change = rank == 2 ? pow(0.25, it) : pow(0.5, it);
    *x += 1e-3 * halo[0] + change;
    if (norm(change) < 1e-3) return it;
  }
  return -1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int dims[2] = {2, 2}, periods[2] = {0, 0};
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  double x = 1, sum = 0;
  const int iterations = solve(&x);
  MPI_Reduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);  // @culprit
  if (rank == 0) printf("%s %d\n", iterations < 0 ? "not converged" : "converged", sum > 0);
  MPI_Comm_free(&grid);
  MPI_Finalize();  // @culprit
  return 0;
}
