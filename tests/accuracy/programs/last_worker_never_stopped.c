// SPDX-License-Identifier: Apache-2.0
// The manager tells the workers to stop, but not the last one, which waits for its next task.
//
// job: ranks=4 outcome=hung
// expect: kind=p2p-unmatched|rank-conditional-collective culprits=0
#include <mpi.h>
#include <stdio.h>

enum { kTask = 1, kStop = 2, kDone = 3, kTasks = 9 };

static int rank, size;

static void worker(void) {
  for (;;) {
    MPI_Status status;
    int task;
    MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == kStop) return;
    task *= task;
    MPI_Send(&task, 1, MPI_INT, 0, kDone, MPI_COMM_WORLD);
  }
}

static int manager(void) {
  int next = 0, done = 0, sum = 0;
#ifdef CONTROL
  const int end = size;
#else
  const int end = size - 1;
#endif
  for (int w = 1; w < size; ++w, ++next) MPI_Send(&next, 1, MPI_INT, w, kTask, MPI_COMM_WORLD);
  while (done < kTasks) {
    MPI_Status status;
    int result;
    MPI_Recv(&result, 1, MPI_INT, MPI_ANY_SOURCE, kDone, MPI_COMM_WORLD, &status);
    sum += result;
    ++done;
    if (next < kTasks) {
      MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, kTask, MPI_COMM_WORLD);
      ++next;
    }
  }
  for (int w = 1; w < end; ++w) MPI_Send(&next, 1, MPI_INT, w, kStop, MPI_COMM_WORLD);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int sum = 0;
  if (rank == 0)
    sum = manager();
  else
    worker();
  MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d\n", sum);
  MPI_Finalize();
  return 0;
}
