// The halves of the job are joined by an intercommunicator; one rank of the remote group skips
// the barrier on it.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=3 waiting=0-2 op=MPI_Barrier seq=2
// expect+: comm!=MPI_COMM_WORLD certainty=proven
#include "tests/faults/fault.h"

static void Couple(MPI_Comm peers, int rank) {
  MPI_Barrier(peers);
#ifdef FAULT
  if (rank != 3)
#else
  if (rank >= 0)
#endif
  {
    MPI_Barrier(peers);  // @waiting
  }
  int flag = rank;
  MPI_Allreduce(MPI_IN_PLACE, &flag, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);  // @culprit
  Report("flag", flag);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int half = rank / 2;
  MPI_Comm mine;
  MPI_Comm peers;
  MPI_Comm_split(MPI_COMM_WORLD, half, rank, &mine);
  MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, half == 0 ? 2 : 0, 9, &peers);
  Couple(peers, rank);
  MPI_Comm_free(&peers);
  MPI_Comm_free(&mine);
  MPI_Finalize();
  return 0;
}
