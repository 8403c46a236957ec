// One rank comes late to MPI_Finalize, where the others wait for it, and says why: correct.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("writing results", 1);
  if (WorldRank() == 0) usleep(2000 * 1000);
  MPI_Finalize();
  return 0;
}
