// Rank 1 prints a last message, for which it asks MPI for its rank, after MPI_Finalize: MPI ends
// it. The second variant calls a function that rollcall records.
//
// rollcall-test: name=query ranks=3 outcome=failed
// arguments: query
// expect: kind=rank-died culprits=1 waiting=none op=any seq=any certainty=proven lines=none
// rollcall-test: name=recorded ranks=3 outcome=failed
// arguments: recorded
// expect: kind=rank-died culprits=1 waiting=none op=any seq=any certainty=proven lines=none
#include <string.h>

#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  const int query = argc > 1 && strcmp(argv[1], "query") == 0;
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Barrier(MPI_COMM_WORLD);
  int finalized = 1;
#ifdef FAULT
  finalized = rank != 1;
#endif
  Report("rank", rank);
  MPI_Finalize();
  if (finalized) MPI_Finalized(&finalized);
  int again = 0;
  if (!finalized && query) MPI_Comm_rank(MPI_COMM_WORLD, &again);
  if (!finalized && !query) MPI_Barrier(MPI_COMM_WORLD);
  return again;
}
