// A master that only polls for results, without a pause, while the workers compute.
//
// rollcall-test: ranks=3
// expect: none
// rollcall-test: name=long ranks=3
// arguments: 12
// expect: none
#include "tests/faults/quiet.h"

static double Collect(void) {
  double total = 0;
  for (int left = WorldSize() - 1; left > 0; --left) {
    MPI_Status status;
    for (int there = 0; !there;) {
      MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &there, &status);
    }
    double result = 0;
    MPI_Recv(&result, 1, MPI_DOUBLE, status.MPI_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    total += result;
  }
  return total;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  double total = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    total = Collect();
  } else {
    Compute(quiet + 0.2 * rank);
    const double result = rank;
    MPI_Send(&result, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
  }
  MPI_Bcast(&total, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  Report("total", total);
  MPI_Finalize();
  return 0;
}
