// A task queue: the master works itself and, between its own tasks, tests the receives in which the
// workers ask for more; the workers test for their next task while they finish the last one.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/quiet.h"

enum { kWorkers = 3, kTasks = 5, kStop = -1 };

static int Master(double task_s) {
  int asked[kWorkers];
  MPI_Request asking[kWorkers];
  for (int i = 0; i < kWorkers; ++i) {
    MPI_Irecv(&asked[i], 1, MPI_INT, i + 1, 1, MPI_COMM_WORLD, &asking[i]);
  }
  int sum = 0;
  int next = 0;
  int active = kWorkers;
  while (active > 0) {
    int count = 0;
    int which[kWorkers];
    MPI_Testsome(kWorkers, asking, &count, which, MPI_STATUSES_IGNORE);
    for (int i = 0; i < (count == MPI_UNDEFINED ? 0 : count); ++i) {
      const int worker = which[i];
      sum += asked[worker];
      const int task = next < kTasks ? next++ : kStop;
      MPI_Send(&task, 1, MPI_INT, worker + 1, 2, MPI_COMM_WORLD);
      if (task == kStop) {
        --active;
      } else {
        MPI_Irecv(&asked[worker], 1, MPI_INT, worker + 1, 1, MPI_COMM_WORLD, &asking[worker]);
      }
    }
    Compute(task_s / 2);
  }
  return sum;
}

static void Worker(double task_s) {
  int result = 0;
  for (;;) {
    int task = kStop;
    int there = 0;
    MPI_Request receiving;
    MPI_Irecv(&task, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &receiving);
    MPI_Send(&result, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    while (!there) {
      Compute(task_s / 4);  // of the last one
      MPI_Test(&receiving, &there, MPI_STATUS_IGNORE);
    }
    if (task == kStop) return;
    Compute(task_s);
    result = task + 1;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double task_s = QuietSeconds(argc, argv) / 3;
  int sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (WorldRank() == 0) {
    sum = Master(task_s);
  } else {
    Worker(task_s);
  }
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
