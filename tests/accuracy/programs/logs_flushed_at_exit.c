// SPDX-License-Identifier: Apache-2.0
// Rank 1 cannot read its input and calls exit(). The exit handler of the log has a reduction, which
// meets the one of the others in the time loop.
//
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective|collective-mismatch culprits=1 attach-kind=finalized-early
// says: flush_logs
// says not: same number of steps
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank;
static long lines;

static void flush_logs(void) {
  long all = 0;
  MPI_Reduce(&lines, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld lines\n", all);
  MPI_Finalize();
}

static double read_forcing(int step) {
#ifndef CONTROL
  if (step == 6 && rank == 1) {
    fprintf(stderr, "cannot read the forcing of step %d\n", step);
    exit(2);
  }
#endif
  ++lines;
  return 0.5 * step;
}

static double advance(double x, int step) {
  double mine = x + read_forcing(step), all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  atexit(flush_logs);
  double x = 0;
  for (int step = 0; step < 12; ++step) x = advance(x, step);
  if (rank == 0) printf("%g\n", x);
  return 0;
}
