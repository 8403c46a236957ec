// Arguments that a rank's role makes insignificant differ wildly: Gather's receive side away from
// the root, Scatter's send side, Bcast's buffers, Alltoallw's and Gatherv's arrays: correct.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int root = 1;
  int all[64] = {0};
  const int mine = rank + 1;
  MPI_Gather(&mine, 1, MPI_INT, rank == root ? all : NULL, rank == root ? 1 : 1000 + rank,
             rank == root ? MPI_INT : MPI_DOUBLE, root, MPI_COMM_WORLD);
  int back = 0;
  MPI_Scatter(rank == root ? all : NULL, rank == root ? 1 : 7 * rank,
              rank == root ? MPI_INT : MPI_CHAR, &back, 1, MPI_INT, root, MPI_COMM_WORLD);
  const int counts[4] = {1, 1, 1, 1};
  const int places[4] = {3, 2, 1, 0};
  MPI_Gatherv(&back, 1, MPI_INT, all, rank == root ? counts : NULL, rank == root ? places : NULL,
              MPI_INT, root, MPI_COMM_WORLD);
  int sum = 0;
  MPI_Reduce(&back, rank == root ? &sum : NULL, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  MPI_Bcast(&sum, 1, MPI_INT, root, MPI_COMM_WORLD);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
