// SPDX-License-Identifier: Apache-2.0
// Both arms of a condition on one line call another collective.
//
// job: ranks=3 outcome=hung
// expect: kind=collective-mismatch|rank-conditional-collective culprits=1
#include <mpi.h>
#include <stdio.h>

static int rank;

static double statistics(double x, int verbose, MPI_Comm all) {
  double y = 0;
  verbose ? MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, all) : MPI_Barrier(all);  // @culprit
  return y;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double start = rank;
  MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
#ifdef CONTROL
  const int verbose = 1;
#else
  const int verbose = rank != 1;
#endif
  const double sum = statistics(start + rank, verbose, MPI_COMM_WORLD);
  double last = 0;
  MPI_Scan(&sum, &last, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%g\n", last);
  MPI_Finalize();
  return 0;
}
