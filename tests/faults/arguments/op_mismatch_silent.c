// Rank 3 takes the maximum where the others take the sum: every rank returns, with a wrong result.
//
// rollcall-test: ranks=4 outcome=finished
// expect: kind=op-mismatch culprits=3 waiting=none op=MPI_Allreduce seq=2 certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double mine = WorldRank();
  double result = 0;
#ifdef FAULT
  const MPI_Op op = WorldRank() == 3 ? MPI_MAX : MPI_SUM;
#else
  const MPI_Op op = MPI_SUM;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &result, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);  // @culprit @waiting
  MPI_Barrier(MPI_COMM_WORLD);
  Report("result", result);
  MPI_Finalize();
  return 0;
}
