// Two communicators with the same members: rank 2 reduces on the second first, the others on the
// first first. No operation mismatches by itself; each side waits for the other.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=order-inversion culprits=2 waiting=0,1 op=MPI_Allreduce seq=1
// expect+: comm!=MPI_COMM_WORLD certainty=proven
#include "tests/faults/fault.h"

static double Sum(double mine, MPI_Comm comm) {
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);  // @culprit @waiting
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Comm planes[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &planes[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &planes[1]);
#ifdef FAULT
  const int first = rank == 2;
#else
  const int first = 0;
#endif
  double value = rank;
  for (int i = 0; i < 2; ++i) {
    value = Sum(value, planes[i ^ first]);
  }
  Report("value", value);
  MPI_Comm_free(&planes[0]);
  MPI_Comm_free(&planes[1]);
  MPI_Finalize();
  return 0;
}
