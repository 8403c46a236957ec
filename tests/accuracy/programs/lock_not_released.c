// SPDX-License-Identifier: Apache-2.0
// Rank 1 leaves add_to_queue() early without MPI_Win_unlock and locks again. MPICH rejects the
// call; with Open MPI, rank 1 waits for itself, and the others wait for rank 1.
//
// report: open-mpi/ompi#10475
// job: ranks=4 outcome=failed outcome[openmpi]=hung
// expect: kind=rank-died kind[openmpi]=p2p-unmatched culprits=1
// says: MPI_Win_lock
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static MPI_Win win;
static int* queue;

static int add_to_queue(int value, int limit) {
  int old = 0, one = 1;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);  // @culprit
#ifndef CONTROL
  if (value > limit) return -1;  // rejected
#endif
  MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, win);
  MPI_Win_flush(0, win);
  MPI_Put(&value, 1, MPI_INT, 0, 1 + old, 1, MPI_INT, win);
  MPI_Win_unlock(0, win);
  return old;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate(rank == 0 ? 100 * sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &queue, &win);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    for (int i = 0; i < 100; ++i) queue[i] = 0;
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank > 0) {
    usleep(50000 * rank);
    add_to_queue(rank == 1 ? 1000 : rank, 100);
    usleep(300000);
    add_to_queue(10 + rank, 100);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  if (rank == 0) puts("done");
  MPI_Finalize();
  return 0;
}
