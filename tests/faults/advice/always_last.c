// Rank 1 prepares its data thirty milliseconds longer in every step, and the other waits each time.
// Nothing stops; the straggler is reported on request. In the control the ranks are late in turns.
//
// rollcall-test: ranks=2 outcome=finished also=stragglers
// expect: kind=straggler culprits=1 waiting=any op=MPI_Allreduce seq=any certainty=likely
// expect+: lines=none
#include <time.h>

#include "tests/faults/fault.h"

static void Prepare(long ms) {
  struct timespec rest = {.tv_nsec = ms * 1000000};
  // Sleeps instead of spinning, so that the other rank has a processor and comes first even on a
  // busy machine.
  while (nanosleep(&rest, &rest) != 0) {
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double loss = 1;
  for (int step = 0; step < 60; ++step) {
#ifdef FAULT
    const int slow = 1;
#else
    const int slow = step % 2;
#endif
    if (rank == slow) Prepare(30);
    double sum = 0;
    MPI_Allreduce(&loss, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    loss = sum / WorldSize();
  }
  Report("loss", loss);
  MPI_Finalize();
  return 0;
}
