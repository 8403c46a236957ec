// A master sends work to any worker that asks, by wildcards; the workers make different numbers of
// iterations and only meet in one collective at the end: correct.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/fault.h"

enum { kAsk = 1, kWork = 2, kStop = 3, kItems = 40 };

static double Master(void) {
  double total = 0;
  int next = 0;
  int active = WorldSize() - 1;
  while (active > 0) {
    double result = 0;
    MPI_Status status;
    MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    total += result;
    const int more = next < kItems;
    MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, more ? kWork : kStop, MPI_COMM_WORLD);
    next += more;
    active -= !more;
  }
  return total;
}

static void Worker(void) {
  double result = 0;
  for (;;) {
    int item = 0;
    MPI_Status status;
    MPI_Send(&result, 1, MPI_DOUBLE, 0, kAsk, MPI_COMM_WORLD);
    MPI_Recv(&item, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG == kStop) return;
    result = item;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double total = 0;
  if (WorldRank() == 0) {
    total = Master();
  } else {
    Worker();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("total", total);
  MPI_Finalize();
  return 0;
}
