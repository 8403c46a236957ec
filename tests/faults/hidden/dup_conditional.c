// MPI_Comm_dup under a condition on a rank's own cache: rank 1 wrongly assumes it has a duplicate.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=rank-conditional-collective culprits=1 waiting=0,2 op=MPI_Comm_dup seq=2
// expect+: certainty=proven
#include "tests/faults/fault.h"

static MPI_Comm Private(int cached) {
  MPI_Comm copy = MPI_COMM_NULL;
  if (!cached) {
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);  // @waiting
  }
  MPI_Barrier(MPI_COMM_WORLD);  // @culprit
  return copy;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
#ifdef FAULT
  const int cached = WorldRank() == 1;
#else
  const int cached = WorldRank() == -1;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm copy = Private(cached);
  MPI_Comm_free(&copy);
  Report("done", 1);
  MPI_Finalize();
  return 0;
}
