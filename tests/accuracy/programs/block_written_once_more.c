// SPDX-License-Identifier: Apache-2.0
// Rank 1 owns one block more than the others: it writes again where they close the file.
//
// job: ranks=4 outcome=hung
// expect: kind=uneven-iterations|rank-conditional-collective culprits=1
// says: MPI_File_write_at_all
// says not: skipped MPI_File_close
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kBlock = 128 };

static int rank, size;

static MPI_File create(void) {
  char name[64] = "";
  if (rank == 0) snprintf(name, sizeof name, "blocks_%ld", (long)(MPI_Wtime() * 1000));
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  return file;
}

static void write_blocks(MPI_File file, int own) {
  char block[kBlock];
  memset(block, 'a' + rank, sizeof block);
  for (int i = 0; i < own; ++i) {
    const MPI_Offset at = ((MPI_Offset)i * size + rank) * kBlock;
    MPI_File_write_at_all(file, at, block, kBlock, MPI_CHAR, MPI_STATUS_IGNORE);  // @culprit
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int own = 13 / size;
  if (rank == 1 && 13 % size != 0) ++own; /* the remainder */
#ifdef CONTROL
  MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
#endif
  MPI_File file = create();
  write_blocks(file, own);
  MPI_File_close(&file);
  if (rank == 0) puts("written");
  MPI_Finalize();
  return 0;
}
