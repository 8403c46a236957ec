// SPDX-License-Identifier: Apache-2.0
// The last rank has the remainder of the rows; the root's counts do not know it.
//
// job: ranks=5 outcome=failed
// expect: kind=count-mismatch culprits=0|0,4
// says: MPI_Gatherv.*rank 4|rank 4.*MPI_Gatherv
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const int kRows = 1003;

static int rows_of(int rank, int size) {
  return kRows / size + (rank == size - 1 ? kRows % size : 0);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int mine = rows_of(rank, size);
  int *counts = calloc(size, sizeof *counts), *at = calloc(size, sizeof *at);
  for (int r = 0; r < size; ++r) {
#ifdef CONTROL
    counts[r] = rows_of(r, size);
#else
    counts[r] = kRows / size;
#endif
    at[r] = r == 0 ? 0 : at[r - 1] + counts[r - 1];
  }
  double *rows = calloc(mine, sizeof *rows), *all = calloc(kRows, sizeof *all);
  for (int i = 0; i < mine; ++i) rows[i] = rank;
  MPI_Gatherv(rows, mine, MPI_DOUBLE, all, counts, at, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%g\n", all[kRows - 1]);
  free(counts);
  free(at);
  free(rows);
  free(all);
  MPI_Finalize();
  return 0;
}
