// Halo exchange in an open chain: the ends exchange with MPI_PROC_NULL; eager sends complete before
// they are received: correct.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int left = rank == 0 ? MPI_PROC_NULL : rank - 1;
  const int right = rank == WorldSize() - 1 ? MPI_PROC_NULL : rank + 1;
  double value = rank;
  for (int step = 0; step < 5; ++step) {
    double from_left = 0;
    double from_right = 0;
    MPI_Sendrecv(&value, 1, MPI_DOUBLE, right, step, &from_left, 1, MPI_DOUBLE, left, step,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_DOUBLE, left, 100 + step, MPI_COMM_WORLD);
    MPI_Recv(&from_right, 1, MPI_DOUBLE, right, 100 + step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    value = (value + from_left + from_right) / 3;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("value", value);
  MPI_Finalize();
  return 0;
}
