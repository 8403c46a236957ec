/* SPDX-License-Identifier: Apache-2.0 */
/* A job without a peculiarity, for peculiar surroundings: [BARRIERS on MPI_COMM_WORLD]. */
#include "isolation.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int count = argc > 1 ? atoi(argv[1]) : 5;
  for (int i = 0; i < count; ++i) MPI_Barrier(MPI_COMM_WORLD);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d: sum %d\n", rank, size, sum);
  MPI_Finalize();
  /* Open MPI's launcher kills the rest when one rank returns another code. */
  return size == 1 ? 5 : 0;
}
