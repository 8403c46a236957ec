// SPDX-License-Identifier: Apache-2.0
// A configuration is missing on rank 1 alone. error() finalizes MPI and exits; the others continue.
//
// report: claudiopica/HiRep#2
// job: ranks=4 outcome=hung
// expect: kind=finalized-early|rank-conditional-collective|rank-died culprits=1
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank;

static void finalize_process(void) {
  MPI_Finalize();  // @culprit
}

static void error(int test, int no, const char* where, const char* what) {
#ifdef CONTROL
  MPI_Allreduce(MPI_IN_PLACE, &test, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
#endif
  if (test == 0) return;
  if (rank == 0 || test != 0) fprintf(stderr, "[%d] %s: %s\n", rank, where, what);
  finalize_process();
  exit(no);
}

static double read_gauge_field(int conf) {
  const int missing = conf == 2 && rank == 1; /* its file system is not mounted */
  error(missing, 0, "read_gauge_field", "cannot open the configuration");
  return 0.25 * conf;
}

static double plaquette(double field) {
  double all = 0;
  MPI_Allreduce(&field, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int conf = 0; conf < 4; ++conf) {
    const double p = plaquette(read_gauge_field(conf));
    if (rank == 0) printf("conf %d plaquette %g\n", conf, p);
  }
  MPI_Finalize();
  return 0;
}
