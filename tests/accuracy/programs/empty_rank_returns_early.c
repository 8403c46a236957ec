// SPDX-License-Identifier: Apache-2.0
// Rank 3 owns no cells and returns from smooth_field() before the exchange with its neighbour and
// the MPI_Allreduce. Rank 2 waits for its message, ranks 0 and 1 after it.
//
// report: underworldcode/underworld3#698, visit-dav/visit#17179
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=3
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static void share_boundary(double* u, int n) {
  const int up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL,
            down = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  double from_down = 0, from_up = 0, low = n ? u[0] : 0, high = n ? u[n - 1] : 0;
  if (rank % 2 == 0) {
    MPI_Send(&high, 1, MPI_DOUBLE, up, 1, MPI_COMM_WORLD);
    MPI_Recv(&from_up, 1, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&low, 1, MPI_DOUBLE, down, 2, MPI_COMM_WORLD);
    MPI_Recv(&from_down, 1, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&from_down, 1, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&low, 1, MPI_DOUBLE, down, 2, MPI_COMM_WORLD);
    MPI_Recv(&from_up, 1, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&high, 1, MPI_DOUBLE, up, 1, MPI_COMM_WORLD);
  }
  if (n) u[0] += from_down, u[n - 1] += from_up;
}

static double smooth_field(double* u, int n) {
#ifndef CONTROL
  if (n == 0) return 0;  // nothing to do here
#endif
  share_boundary(u, n);
  double mine = n ? u[0] : 0, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int cells = 4;
  double u[8] = {1, 1, 1, 1}, sum = 0, sums[64];
  for (int adapt = 0; adapt < 3; ++adapt) {
    if (adapt == 2 && rank == 3) cells = 0;  // the coarsened mesh has no cell for it
    sum += smooth_field(u, cells);
  }
  double mine = cells;
  MPI_Allgather(&mine, 1, MPI_DOUBLE, sums, 1, MPI_DOUBLE, MPI_COMM_WORLD);  // @culprit
  if (rank == 0) printf("%g\n", sum);
  MPI_Finalize();
  return 0;
}
