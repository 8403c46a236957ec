// Rank 1 asks for its rank in a communicator that it is not a member of, and MPI ends it: a call
// that is not recorded. MPICH's launcher kills all ranks before rank 1 exits.
//
// rollcall-test: ranks=3 outcome=failed
// expect: kind=rank-died culprits=1 waiting=0,2 op=MPI_Barrier seq=3 certainty=proven
// expect+[mpich]: waiting=any seq=any certainty=likely lines=culprit
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 1 ? MPI_UNDEFINED : 0, rank, &part);
  MPI_Barrier(MPI_COMM_WORLD);
  ArriveBefore(1);
  int own = 0, asks = part != MPI_COMM_NULL;
#ifdef FAULT
  asks = 1;
#endif
  if (asks) MPI_Comm_rank(part, &own);  // @culprit
  MPI_Barrier(MPI_COMM_WORLD);          // @waiting
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
  Report("own", own);
  MPI_Finalize();
  return 0;
}
