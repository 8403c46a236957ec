// On MPI_COMM_SELF: rank 0 sends to itself, synchronously, before it posts the receive. Only
// MPI_Finalize waits for it.
//
// rollcall-test: ranks=2 outcome=hung
// expect: kind=p2p-unmatched culprits=0 waiting=any op=MPI_Ssend seq=any certainty=proven
// expect+: lines=culprit
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int sent = 5;
  int got = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (WorldRank() == 0) {
#ifndef FAULT
    MPI_Irecv(&got, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
#endif
    MPI_Ssend(&sent, 1, MPI_INT, 0, 7, MPI_COMM_SELF);  // @culprit
#ifdef FAULT
    MPI_Irecv(&got, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
#endif
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  Report("got", got);
  MPI_Finalize();
  return 0;
}
