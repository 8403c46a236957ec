// SPDX-License-Identifier: Apache-2.0
// Each rank looks at its own flag after a step, and a signal came to rank 0 one step earlier: rank
// 0 is in the checkpoint, and the others are in the next step.
//
// report: ComputationalRadiationPhysics/picongpu#3642, BLAST-WarpX/warpx#2870
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective|collective-mismatch culprits=0
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t wanted;
static int rank, size;

static void on_signal(int number) {
  (void)number;
  wanted = 1;
}

static double advance(double x) {
  double sum = 0;
  MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / size + 1;
}

static void checkpoint(double x) {
  double all[64];
  MPI_Gather(&x, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);  // @culprit
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("checkpoint %g\n", all[0]);
}

static int checkpoint_wanted(void) {
  int yes = wanted;
#ifdef CONTROL
  MPI_Allreduce(MPI_IN_PLACE, &yes, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
#endif
  wanted = 0;
  return yes;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  signal(SIGUSR1, on_signal);
  double x = rank;
  for (int step = 0; step < 30; ++step) {
    x = advance(x);
    if (step == (rank == 0 ? 11 : 12)) raise(SIGUSR1); /* from the batch system, a few ms apart */
    if (checkpoint_wanted()) checkpoint(x);
  }
  if (rank == 0) printf("%g\n", x);
  MPI_Finalize();
  return 0;
}
