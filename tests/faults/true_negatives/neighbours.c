// Neighbourhood collectives on an open chain, where the ends have one neighbour less, and on a
// graph in which each rank has its own number of neighbours: correct.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int size = WorldSize();
  int extent = size;
  const int open = 0;
  MPI_Comm chain;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &extent, &open, 0, &chain);
  const double mine = rank + 1;
  double near[2] = {0, 0};
  MPI_Neighbor_allgather(&mine, 1, MPI_DOUBLE, near, 1, MPI_DOUBLE, chain);
  // A star: everybody is rank 0's neighbour.
  int others[8];
  int degree = 0;
  for (int i = 1; i < size; ++i) {
    if (rank == 0) others[degree++] = i;
  }
  if (rank != 0) others[degree++] = 0;
  MPI_Comm star;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, others, MPI_UNWEIGHTED, degree, others,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &star);
  double all[8] = {0};
  MPI_Neighbor_allgather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, star);
  MPI_Comm_free(&star);
  MPI_Comm_free(&chain);
  Report("sum", near[0] + near[1] + all[0] + all[size - 2]);
  MPI_Finalize();
  return 0;
}
