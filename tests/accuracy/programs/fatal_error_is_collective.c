// SPDX-License-Identifier: Apache-2.0
// Rank 0 alone finds a bad time step and calls fatal(), which gathers the messages of all ranks
// before it aborts. The others are in the halo's barrier.
//
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective|collective-mismatch culprits=0
// says: fatal
// says not: call MPI_Gather on every rank
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;

/* To be called by all ranks. */
static void fatal(const char* message) {
  char mine[32] = "", all[64 * 32];
  strncpy(mine, message, sizeof mine - 1);
  MPI_Gather(mine, 32, MPI_CHAR, all, 32, MPI_CHAR, 0, MPI_COMM_WORLD);  // @culprit
  if (rank == 0) fprintf(stderr, "%s\n", all);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static double time_step(int step) {
  const double dt = step == 9 && rank == 0 ? 0 : 1.0 / (step + 1);
#ifndef CONTROL
  if (dt <= 0) fatal("the time step is zero");
#endif
  return dt;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double t = 0, least = 0;
  for (int step = 0; step < 20; ++step) {
    const double dt = time_step(step);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&dt, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    t += least;
  }
  if (rank == 0) printf("%g\n", t);
  MPI_Finalize();
  return 0;
}
