// Rank 2 reduces by an operator of its own that does not commute, for which MPICH uses another
// algorithm than on the other ranks; Open MPI does not detect it.
//
// rollcall-test: ranks=4 outcome=hung outcome[openmpi]=finished
// expect: kind=op-mismatch culprits=2 waiting=0,1,3 op=MPI_Allreduce seq=2 certainty=proven
// expect+[openmpi]: waiting=none
#include "tests/faults/fault.h"

enum { kCount = 1000 };

static void Add(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; ++i) {
    ((double*)inout)[i] += ((double*)in)[i];
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double* mine = (double*)Buffer(kCount, sizeof(double));
  double* sum = (double*)Buffer(kCount, sizeof(double));
  mine[0] = WorldRank();
  MPI_Op add;
  MPI_Op_create(Add, 0, &add);
#ifdef FAULT
  const MPI_Op op = WorldRank() == 2 ? add : MPI_SUM;
#else
  const MPI_Op op = add;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce(mine, sum, kCount, MPI_DOUBLE, op, MPI_COMM_WORLD);  // @culprit @waiting
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", sum[0]);
  MPI_Op_free(&add);
  free(mine);
  free(sum);
  MPI_Finalize();
  return 0;
}
