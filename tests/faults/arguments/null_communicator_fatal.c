// Rank 1 is in no part of the split, but makes a call on its result: MPI_COMM_NULL. MPI ends
// the job.
//
// rollcall-test: ranks=3 outcome=failed
// expect: kind=invalid-argument culprits=1 waiting=any op=MPI_Barrier seq=any certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, WorldRank() == 1 ? MPI_UNDEFINED : 0, 0, &part);
#ifndef FAULT
  if (part != MPI_COMM_NULL)
#endif
    MPI_Barrier(part);  // @culprit
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("ranks", WorldSize());
  MPI_Finalize();
  return 0;
}
