// Each step splits the ranks anew and frees nothing.
//
// rollcall-test: ranks=4 outcome=finished mpi=openmpi check=--fail-on=errors
// expect: kind=communicator-leak culprits=0-3 waiting=any op=MPI_Comm_split seq=any
// expect+: certainty=proven lines=culprit
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double sum = 0;
  for (int step = 0; step < 3; ++step) {
    double mine = rank + step;
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, (rank + step) % 2, rank, &part);  // @culprit
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, part);
#ifdef FAULT
    (void)part;
#else
    MPI_Comm_free(&part);
#endif
  }
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
