// SPDX-License-Identifier: Apache-2.0
// In the last steps, three of four ranks own no particles and return from deposit() before its
// MPI_Allreduce, which they made in the steps before. They are in the collective write of the
// output; rank 2 waits in deposit().
//
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=0,1,3
// says: deposit
// says not: call MPI_Gather on every rank
#include <mpi.h>
#include <stdio.h>

static int rank;

static int particles(int step) {
  return rank == 2 ? 40 : step < 3 ? 10 - step : 0; /* they drift to rank 2 */
}

static double deposit(int step) {
  const int n = particles(step);
  double mine = 0, all = 0;
#ifndef CONTROL
  if (n == 0) return 0; /* nothing to deposit */
#endif
  for (int i = 0; i < n; ++i) mine += 0.5 * i;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @waiting
  return all;
}

static void output(double charge) {
  double all[64];
  MPI_Gather(&charge, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);  // @culprit
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%g\n", all[0]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < 5; ++step) output(deposit(step));
  MPI_Finalize();
  return 0;
}
