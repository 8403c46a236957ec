// In an all-to-all with counts per pair, rank 1 sends two elements to rank 2, which expects one
// from it, as every other rank sends and expects one.
//
// rollcall-test: ranks=3 outcome=failed
// expect: kind=count-mismatch culprits=1 waiting=any op=MPI_Alltoallv seq=2 certainty=proven
// expect+: lines=culprit
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int out[8] = {rank};
  int in[8] = {0};
  int give[3] = {1, 1, 1};
  const int take[3] = {1, 1, 1};
  const int places[3] = {0, 2, 4};
#ifdef FAULT
  if (rank == 1) give[2] = 2;
#else
  if (rank == 1) give[2] = 1;
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Alltoallv(out, give, places, MPI_INT, in, take, places, MPI_INT, MPI_COMM_WORLD);  // @culprit
  MPI_Barrier(MPI_COMM_WORLD);
  Report("in", in[4]);
  MPI_Finalize();
  return 0;
}
