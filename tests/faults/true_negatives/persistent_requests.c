// Persistent point-to-point requests, started a different number of times per pair: correct.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int peer = rank ^ 1;
  const int rounds = 3 + rank / 2;
  int out = rank;
  int in = -1;
  MPI_Request requests[2];
  MPI_Recv_init(&in, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&out, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[1]);
  int total = 0;
  for (int i = 0; i < rounds; ++i) {
    out = rank + i;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    total += in;
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("total", total);
  MPI_Finalize();
  return 0;
}
