// Rank 1 reduces floats where the others reduce ints of the same size: all return wrong results.
//
// rollcall-test: ranks=4 outcome=finished
// expect: kind=datatype-mismatch culprits=1 waiting=none op=MPI_Allreduce seq=2 certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int mine[2] = {WorldRank(), 1};
  int sum[2] = {0, 0};
#ifdef FAULT
  const MPI_Datatype type = WorldRank() == 1 ? MPI_FLOAT : MPI_INT;
#else
  const MPI_Datatype type = MPI_INT;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(mine, sum, 2, type, MPI_SUM, MPI_COMM_WORLD);  // @culprit @waiting
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", sum[0] != 0);
  MPI_Finalize();
  return 0;
}
