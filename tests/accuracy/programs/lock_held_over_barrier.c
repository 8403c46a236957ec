// SPDX-License-Identifier: Apache-2.0
// Rank 0 holds an exclusive lock over two barriers; rank 1 waits for the lock between them.
//
// report: pmodels/mpich#1997
// job: ranks=2 outcome=hung
// expect: kind=p2p-unmatched|order-inversion|rank-conditional-collective culprits=0|none
// says: lock
#include <mpi.h>
#include <stdio.h>

static MPI_Win win;
static int* shared;

static void first(void) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  shared[0] = 1;
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef CONTROL
  MPI_Win_unlock(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
#else
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock(0, win);
#endif
}

static void second(void) {
  int value = 2;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
  MPI_Win_flush(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock(0, win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &win);
  if (rank == 0)
    first();
  else
    second();
  MPI_Win_free(&win);
  if (rank == 0) printf("done\n");
  MPI_Finalize();
  return 0;
}
