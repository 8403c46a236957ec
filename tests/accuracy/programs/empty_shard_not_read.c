// SPDX-License-Identifier: Apache-2.0
// Rank 3 has nothing to read in one round and goes on to the next one. Its reads are one round
// ahead from then on, and at the end it closes the file while the others read once more.
//
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective|uneven-iterations culprits=3
// says: MPI_File_read_at_all
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kRounds = 6, kBlock = 64 };

static int rank, size;

static int elements(int round) { return round == 2 && rank == 3 ? 0 : 8 + round; }

static MPI_File open_shards(void) {
  char name[64] = "", zeros[kRounds * kBlock] = "";
  if (rank == 0) snprintf(name, sizeof name, "shards_%ld", (long)(MPI_Wtime() * 1000));
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, (MPI_Offset)rank * sizeof zeros, zeros, sizeof zeros, MPI_CHAR,
                        MPI_STATUS_IGNORE);
  return file;
}

static int read_round(MPI_File file, int round, char* shard) {
  const int n = elements(round);
#ifndef CONTROL
  if (n == 0) return 0;
#endif
  const MPI_Offset at = ((MPI_Offset)rank * kRounds + round) * kBlock;
  MPI_File_read_at_all(file, at, shard, n, MPI_CHAR, MPI_STATUS_IGNORE);  // @waiting
  return n;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_File file = open_shards();
  char shard[kBlock];
  int total = 0;
  for (int round = 0; round < kRounds; ++round) total += read_round(file, round, shard);
  MPI_File_close(&file);
  if (rank == 0) printf("%d\n", total);
  MPI_Finalize();
  return 0;
}
