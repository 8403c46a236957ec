// Rank 1 is slow for three seconds, asleep and then computing, while the others wait: slowness is
// not a hang.
//
// rollcall-test: ranks=3
// expect: none
#include <time.h>

#include "tests/faults/fault.h"

static double Seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  if (WorldRank() == 1) {
    usleep(1500 * 1000);
    const double until = Seconds() + 1.5;
    while (Seconds() < until) {
    }
  }
  int value = 6;
  MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("value", value);
  MPI_Finalize();
  return 0;
}
