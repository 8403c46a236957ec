// SPDX-License-Identifier: Apache-2.0
// Each rank posts receives of its own block's size. Rank 2 has a smaller block than its neighbours,
// and the message of rank 1 is truncated.
//
// job: ranks=3 outcome=failed
// expect: kind=count-mismatch culprits=2|1,2
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static int block_size(int cells) {
#ifdef CONTROL
  return (cells + size - 1) / size;
#else
  return rank + 1 < size ? (cells + size - 1) / size : cells - rank * ((cells + size - 1) / size);
#endif
}

static double exchange(const double* block, int n) {
  MPI_Request requests[2];
  double *below = calloc(n, sizeof *below), sum = 0;
  const int down = rank > 0 ? rank - 1 : MPI_PROC_NULL,
            up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  MPI_Irecv(below, n, MPI_DOUBLE, down, 6, MPI_COMM_WORLD, &requests[0]);  // @culprit
  MPI_Isend(block, n, MPI_DOUBLE, up, 6, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; ++i) sum += below[i];
  free(below);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int n = block_size(1000);
  double *block = calloc(n, sizeof *block), sum = 0, all = 0;
  block[0] = rank + 1;
  for (int step = 0; step < 3; ++step) {
    sum += exchange(block, n);
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%g\n", all);
  free(block);
  MPI_Finalize();
  return 0;
}
