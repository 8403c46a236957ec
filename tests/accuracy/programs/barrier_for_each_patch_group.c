// SPDX-License-Identifier: Apache-2.0
// The timing of each group of patches begins with a barrier; rank 2 has fewer groups, and is in the
// next phase.
//
// report: gamer-project/gamer#519
// job: ranks=4 outcome=hung
// expect: kind=uneven-iterations culprits=2
#include <mpi.h>
#include <stdio.h>

enum { kGroup = 8 };

static int rank, size;
static double seconds;

static void timing_sync(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  seconds = MPI_Wtime();
}

static double prepare(int first, int n) {
  double sum = 0;
  timing_sync();
  for (int i = 0; i < n; ++i) sum += 0.5 * (first + i);
  return sum;
}

static double invoke_solver(int total, int total_max) {
  double sum = 0;
  for (int first = 0; first < total_max; first += kGroup) {
    const int left = total - first;
    sum += prepare(first, left < 0 ? 0 : left < kGroup ? left : kGroup);
  }
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double sum = 0, all = 0;
  for (int level = 0; level < 3; ++level) {
    const int patches = level == 1 && rank == 2 ? 17 : 30;
    int most = patches;
#ifdef CONTROL
    MPI_Allreduce(&patches, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
#endif
    sum += invoke_solver(patches, most);
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @culprit
  }
  if (rank == 0) printf("%g\n", all);
  MPI_Finalize();
  return 0;
}
