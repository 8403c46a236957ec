// Collectives on an intercommunicator: MPI_ROOT and MPI_PROC_NULL as roots, and different arguments
// on its two sides: correct.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int half = rank / 2;
  MPI_Comm mine;
  MPI_Comm peers;
  MPI_Comm merged;
  MPI_Comm_split(MPI_COMM_WORLD, half, rank, &mine);
  MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, half == 0 ? 2 : 0, 4, &peers);
  int value = rank + 1;
  int got = 0;
  MPI_Bcast(&value, 1, MPI_INT, rank == 1 ? MPI_ROOT : half == 0 ? MPI_PROC_NULL : 1, peers);
  MPI_Allreduce(&value, &got, 1, MPI_INT, MPI_SUM, peers);
  MPI_Barrier(peers);
  MPI_Intercomm_merge(peers, half, &merged);
  MPI_Bcast(&got, 1, MPI_INT, 3, merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&peers);
  MPI_Comm_free(&mine);
  Report("got", got);
  MPI_Finalize();
  return 0;
}
