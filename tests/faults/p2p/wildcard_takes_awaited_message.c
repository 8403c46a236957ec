// Rank 0 has a receive from any rank and one from rank 1 open. The message of rank 1 comes first,
// and the receive from any rank takes it. The receive from rank 1 then waits for a message that no
// rank sends.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2
// expect: kind=p2p-unmatched culprits=0 waiting=1,2 op=MPI_Irecv seq=any certainty=likely
#include "tests/faults/fault.h"

enum { kWork = 1, kGo = 8, kSent = 9 };

// Lets `rank` send its message, and returns when MPI has matched it: messages of one rank do not
// overtake each other.
static void LetSend(int rank) {
  MPI_Send(NULL, 0, MPI_INT, rank, kGo, MPI_COMM_WORLD);
  MPI_Recv(NULL, 0, MPI_INT, rank, kSent, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int values[2] = {0, 0};
  const int rank = WorldRank();
#ifdef FAULT
  const int first = 1;
#else
  const int first = 2;
#endif
  if (rank == 0) {
    MPI_Request requests[2];
    MPI_Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, kWork, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, 1, kWork, MPI_COMM_WORLD, &requests[1]);  // @culprit
    LetSend(first);
    LetSend(3 - first);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else {
    MPI_Recv(NULL, 0, MPI_INT, 0, kGo, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&rank, 1, MPI_INT, 0, kWork, MPI_COMM_WORLD);
    MPI_Send(NULL, 0, MPI_INT, 0, kSent, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // @waiting
  Report("values", values[0] * 10 + values[1]);
  MPI_Finalize();
  return 0;
}
