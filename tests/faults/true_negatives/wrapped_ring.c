// More collectives than any ring holds, from alternating call sites; the rings of the ranks begin
// at different records when they are read: correct.
//
// rollcall-test: ranks=2
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double sum = 0;
  for (int i = 0; i < 60000; ++i) {
    double value = 1;
    MPI_Bcast(&value, 1, MPI_DOUBLE, i % 2, MPI_COMM_WORLD);
    double all = 0;
    MPI_Allreduce(&value, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    sum += all;
    if (WorldRank() == 0) MPI_Barrier(MPI_COMM_SELF);
  }
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
