// SPDX-License-Identifier: Apache-2.0
// Rank 0 writes the header with the collective write of the loop, as one write more. The others
// close the file, which rank 0 would do next.
//
// job: ranks=3 outcome=hung
// expect: kind=rank-conditional-collective|uneven-iterations culprits=0
// says: MPI_File_write_at_all
// says not: skipped MPI_File_close
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kVariables = 3, kPoints = 100 };

static int rank, size;

static void write_block(MPI_File fh, MPI_Offset at, const double* values, int n) {
  MPI_File_write_at_all(fh, at, values, n, MPI_DOUBLE, MPI_STATUS_IGNORE);  // @culprit
}

static void write_output(const char* name, int step) {
  MPI_File fh;
  double values[kPoints] = {step}, header[2] = {kVariables, kPoints};
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &fh);
  for (int v = 0; v < kVariables; ++v)
    write_block(fh, 8 * (2 + (MPI_Offset)kPoints * (v * size + rank)), values, kPoints);
#ifdef CONTROL
  write_block(fh, 0, header, rank == 0 ? 2 : 0);
#else
  if (rank == 0) write_block(fh, 0, header, 2);
#endif
  MPI_File_close(&fh);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[64] = "";
  if (rank == 0) snprintf(name, sizeof name, "output_%ld", random() + (long)(1000 * MPI_Wtime()));
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int step = 0; step < 2; ++step) write_output(name, step);
  if (rank == 0) printf("written\n");
  MPI_Finalize();
  return 0;
}
