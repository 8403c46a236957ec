// MPI_IN_PLACE on the ranks where it is allowed, with the arguments it makes insignificant left as
// nonsense: correct.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int size = WorldSize();
  double all[64] = {0};
  all[rank] = rank + 1;
  MPI_Allgather(MPI_IN_PLACE, 77, MPI_CHAR, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
  double sum = all[size - 1];
  if (rank == 0) {
    MPI_Reduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Scatter(all, 1, MPI_DOUBLE, MPI_IN_PLACE, 99, MPI_BYTE, 0, MPI_COMM_WORLD);
  } else {
    MPI_Reduce(&sum, NULL, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Gather(&all[rank], 1, MPI_DOUBLE, NULL, 0, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Scatter(NULL, 0, MPI_DOUBLE, &all[rank], 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
