// SPDX-License-Identifier: Apache-2.0
// Six ranks in two rows and three columns. The receiving side takes the number of rows for that of
// columns, so that every rank waits for another than the one that sends to it.
//
// job: ranks=6 outcome=hung
// expect: kind=p2p-unmatched culprits=any attach-kind=p2p-deadlock
// says: near miss
// says not: use MPI_Sendrecv
#include <mpi.h>
#include <stdio.h>

enum { kRows = 2, kColumns = 3 };

static int rank, size;

static int at(int row, int column, int width) {
  return ((row + kRows) % kRows) * width + (column + kColumns) % kColumns;
}

static double shift_east(double mine) {
  const int row = rank / kColumns, column = rank % kColumns;
#ifdef CONTROL
  const int width = kColumns;
#else
  const int width = kRows;
#endif
  const int east = at(row, column + 1, kColumns), west = at(row, column - 1, width);
  double got = 0;
  MPI_Sendrecv(&mine, 1, MPI_DOUBLE, east, 2, &got, 1, MPI_DOUBLE, west, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  return got;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double x = rank, sum = 0;
  for (int step = 0; step < 4; ++step) x = shift_east(x) + 1;
  MPI_Reduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%g\n", sum);
  MPI_Finalize();
  return 0;
}
