// SPDX-License-Identifier: Apache-2.0
// Rank 0 alone repeats a step whose time step was too large, with all of its collectives. The
// others go on to the output.
//
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective|uneven-iterations|collective-mismatch culprits=0
// says: advance|MPI_Barrier
// says not: skipped MPI_Bcast
#include <mpi.h>
#include <stdio.h>

static int rank;

static int too_large(int step, int attempt) {
#ifdef CONTROL
  return step == 4 && attempt == 0;
#else
  return step == 4 && attempt == 0 && rank == 0;
#endif
}

static double advance(double x) {
  double mine = x + rank, all = 0;
  MPI_Barrier(MPI_COMM_WORLD);  // @culprit
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static void output(double x) {
  MPI_Bcast(&x, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%g\n", x);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double x = 0;
  for (int step = 0; step < 8; ++step) {
    int attempt = 0;
    double next = advance(x);
    while (too_large(step, attempt)) {
      ++attempt;
      next = advance(x);
    }
    x = next;
    output(x);
  }
  MPI_Finalize();
  return 0;
}
