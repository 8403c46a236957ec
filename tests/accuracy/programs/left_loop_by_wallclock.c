// SPDX-License-Identifier: Apache-2.0
// Rank 1 leaves the loop in run() by its own clock, and its neighbours wait in MPI_Sendrecv for its
// halo.
//
// report: IAS-Astrophysics/athenak#572
// job: ranks=4 outcome=hung
// expect: kind=uneven-iterations culprits=1
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank, size;

static void halo(double* u, int n) {
  const int up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL,
            down = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  MPI_Status s;
  MPI_Sendrecv(&u[1], 1, MPI_DOUBLE, down, 3, &u[n - 1], 1, MPI_DOUBLE, up, 3, MPI_COMM_WORLD, &s);
  MPI_Sendrecv(&u[n - 2], 1, MPI_DOUBLE, up, 4, &u[0], 1, MPI_DOUBLE, down, 4, MPI_COMM_WORLD, &s);
}

static void advance(double* u, int n) {
  halo(u, n);
  for (int i = 1; i < n - 1; ++i) u[i] += 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1]) + 1;
  usleep(2000);
}

static int run(double* u, int n, double start, double wall_time) {
  int cycle = 0;
  double elapsed = 0;
  while (cycle < 100000 && elapsed < wall_time) {
    advance(u, n);
    ++cycle;
    elapsed = MPI_Wtime() - start;
#ifdef CONTROL
    MPI_Bcast(&elapsed, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
#endif
  }
  return cycle;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double u[64] = {0}, norm = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime() - (rank == 1 ? 0.2 : 0);
  const int cycles = run(u, 64, start, 1.0);
  MPI_Allreduce(&u[7], &norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @culprit
  if (rank == 0) printf("%d cycles, %g\n", cycles, norm);
  MPI_Finalize();
  return 0;
}
