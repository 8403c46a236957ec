// Two halves of the job are to be joined by an intercommunicator; one rank of the second half does
// not make the call, and the first half, which is complete, waits for it.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=none waiting=2,3 op=MPI_Intercomm_create seq=1
// expect+: certainty=proven attach-culprits=3
#include "tests/faults/fault.h"

static MPI_Comm Join(MPI_Comm half, int rank) {
  MPI_Comm joined = MPI_COMM_NULL;
#ifdef FAULT
  if (rank != 3)
#endif
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 5, &joined);  // @waiting
  return joined;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
  MPI_Comm joined = Join(half, rank);
  MPI_Barrier(MPI_COMM_WORLD);  // @waiting
  if (joined != MPI_COMM_NULL) MPI_Comm_free(&joined);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
