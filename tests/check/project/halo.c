// SPDX-License-Identifier: Apache-2.0
// halo all: a barrier on every rank; halo some: rank 0 skips it; halo ring: sends around a ring.
#include <mpi.h>
#include <string.h>
#include <unistd.h>

static void PassOn(int rank, int size) {
  int got = 0;
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD);
  MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  alarm(120);
  int rank = 0;
  int size = 0;
  int sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "ring") == 0) PassOn(rank, size);
  const int some = argc > 1 && strcmp(argv[1], "some") == 0;
  if (!some || rank != 0) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // @culprit
  MPI_Finalize();
  return 0;
}
