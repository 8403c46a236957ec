// Rank 1 answers on MPI_COMM_WORLD, but rank 0 receives on a duplicate of it: same peer, same tag,
// but they never match.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=p2p-unmatched culprits=0 waiting=1,2 op=MPI_Recv seq=any certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm library;
  MPI_Comm_dup(MPI_COMM_WORLD, &library);
#ifdef FAULT
  MPI_Comm answers = MPI_COMM_WORLD;
#else
  MPI_Comm answers = library;
#endif
  int value = WorldRank();
  if (value == 1) {
    MPI_Send(&value, 1, MPI_INT, 0, 5, answers);
  } else if (value == 0) {
    MPI_Recv(&value, 1, MPI_INT, 1, 5, library, MPI_STATUS_IGNORE);  // @culprit
  }
  MPI_Barrier(MPI_COMM_WORLD);  // @waiting
  Report("value", value);
  MPI_Comm_free(&library);
  MPI_Finalize();
  return 0;
}
