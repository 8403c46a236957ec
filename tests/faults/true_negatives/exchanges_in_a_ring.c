// Rings that need no buffer: both halves of an exchange make progress, whether one call waits for
// both (MPI_Sendrecv) or a request stands for them (MPI_Isendrecv), and messages to oneself whose
// receive is posted.
//
// rollcall-test: ranks=3 check=
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int left = (rank + WorldSize() - 1) % WorldSize();
  const int right = (rank + 1) % WorldSize();
  int token = rank;
  int got = -1;
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
#if MPI_VERSION >= 4
  MPI_Isendrecv(&token, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isendrecv_replace(&got, 1, MPI_INT, right, 2, left, 2, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
  MPI_Sendrecv(&token, 1, MPI_INT, right, 3, &got, 1, MPI_INT, left, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Irecv(&got, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &request);
  MPI_Ssend(&token, 1, MPI_INT, rank, 4, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&token, 1, MPI_INT, 0, 5, &got, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("got", got);
  MPI_Finalize();
  return 0;
}
