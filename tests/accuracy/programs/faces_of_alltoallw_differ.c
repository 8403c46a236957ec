// SPDX-License-Identifier: Apache-2.0
// A plane is redistributed with MPI_Alltoallw and a subarray type for each pair. Rank 2 makes the
// type that it sends to rank 0 one row too high.
//
// job: ranks=4 outcome=failed
// expect: kind=datatype-mismatch|count-mismatch culprits=2|0,2
// says: MPI_Alltoallw
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 400, COLUMNS = 16 };
static int rank, size;

static MPI_Datatype block(int first_row, int rows, int first_column, int columns) {
  const int sizes[2] = {ROWS, COLUMNS}, subsizes[2] = {rows, columns},
            starts[2] = {first_row, first_column};
  MPI_Datatype type;
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

static int rows_for(int peer) {
#ifndef CONTROL
  if (rank == 2 && peer == 0) return ROWS / 4 + 1;
#endif
  (void)peer;
  return ROWS / 4;
}

static double transpose(const double* from, double* to) {
  int counts[4], at[4] = {0, 0, 0, 0};
  MPI_Datatype out[4], in[4];
  for (int r = 0; r < size; ++r) {
    counts[r] = 1;
    out[r] = block(r * (ROWS / 4) - (r == 3), rows_for(r), 0, COLUMNS / 4);
    in[r] = block(0, ROWS / 4, r * COLUMNS / 4, COLUMNS / 4);
  }
  MPI_Alltoallw(from, counts, at, out, to, counts, at, in, MPI_COMM_WORLD);  // @culprit
  for (int r = 0; r < size; ++r) {
    MPI_Type_free(&out[r]);
    MPI_Type_free(&in[r]);
  }
  return to[0];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double* from = calloc(ROWS * COLUMNS, sizeof *from);
  double* to = calloc(ROWS * COLUMNS, sizeof *to);
  double sum = 0;
  for (int step = 0; step < 3; ++step) sum += transpose(from, to);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%g\n", sum);
  free(from);
  free(to);
  MPI_Finalize();
  return 0;
}
