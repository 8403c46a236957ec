// A plug-in chosen per rank: rank 1 gathers where the others reduce. One call in main makes both,
// so there is no branch where they diverge; the operations do not match.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=collective-mismatch culprits=1 waiting=0,2,3 op=MPI_Allreduce seq=3
// expect+: certainty=proven
#include "tests/faults/fault.h"

static double CombineBySum(double mine) {
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @waiting
  return sum;
}

static double CombineByGather(double mine) {
  double all[64] = {0};
  double sum = 0;
  MPI_Allgather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);  // @culprit
  for (int i = 0; i < WorldSize(); ++i) {
    sum += all[i];
  }
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
#ifdef FAULT
  double (*volatile combine)(double) = rank == 1 ? CombineByGather : CombineBySum;
#else
  double (*volatile combine)(double) = rank == -1 ? CombineByGather : CombineBySum;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", combine(rank));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
