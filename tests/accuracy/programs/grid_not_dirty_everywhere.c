// SPDX-License-Identifier: Apache-2.0
// Halos are exchanged for grids that are marked dirty. The sub-domain with the absorbing layer is
// not on rank 3, which therefore never marks that grid; its neighbours wait for its halo.
//
// report: intel/yask#106
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective|p2p-unmatched culprits=3
#include <mpi.h>
#include <stdio.h>

enum { kCells = 32, kGrids = 3 };

struct grid {
  double u[kCells + 2];
  int dirty;
};

static int rank, size;
static struct grid grids[kGrids]; /* velocity, stress, absorbing layer */

static void update(int g, int t) {
#ifndef CONTROL
  if (g == 2 && rank == 3) return; /* no point of this sub-domain */
#endif
  for (int i = 1; i <= kCells; ++i) grids[g].u[i] += t * 0.5;
  grids[g].dirty = 1;
}

static void exchange_halos(void) {
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL,
            right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  for (int g = 0; g < kGrids; ++g) {
    double* u = grids[g].u;
    MPI_Request r[4];
    if (!grids[g].dirty) continue;
    MPI_Irecv(&u[0], 1, MPI_DOUBLE, left, g, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(&u[kCells + 1], 1, MPI_DOUBLE, right, g, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(&u[1], 1, MPI_DOUBLE, left, g, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(&u[kCells], 1, MPI_DOUBLE, right, g, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    grids[g].dirty = 0;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int t = 0; t < 4; ++t) {
    for (int g = 0; g < kGrids; ++g) update(g, t);
    exchange_halos();
  }
  double sum = 0;
  MPI_Reduce(&grids[2].u[0], &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%g\n", sum);
  MPI_Finalize();
  return 0;
}
