// A healthy job whose every rank reports failure by its exit code, after MPI_Finalize, and which
// writes to both streams: code and output are the job's own.
//
// rollcall-test: ranks=2 exit=7
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("tests failed", 3);
  MPI_Finalize();
  return 7;
}
