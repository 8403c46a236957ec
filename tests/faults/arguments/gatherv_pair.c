// The root of a gather with counts per rank expects three elements of rank 2, which sends two: all
// return, and one element of the result is stale.
//
// rollcall-test: ranks=4 outcome=finished
// expect: kind=count-mismatch culprits=0,2 waiting=none op=MPI_Gatherv seq=2 certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int mine[4] = {rank, rank, rank, rank};
  int all[8] = {0};
  const int counts[4] = {1, 1, 3, 1};
  const int places[4] = {0, 1, 2, 5};
#ifdef FAULT
  const int count = rank == 2 ? 2 : counts[rank];
#else
  const int count = counts[rank];
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Gatherv(mine, count, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD);  // @culprit
  MPI_Barrier(MPI_COMM_WORLD);
  Report("all", all[4]);
  MPI_Finalize();
  return 0;
}
