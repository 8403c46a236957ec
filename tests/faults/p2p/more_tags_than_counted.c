// Every message has its own tag, and there are more tags than a ring can count messages by. At
// the end rank 1 receives a tag that rank 0 has not sent, but the records no longer show that it
// was not sent.
//
// rollcall-test: ranks=3 outcome=hung stall-after=6
// expect: kind=p2p-unmatched culprits=1 waiting=0,2 op=MPI_Recv seq=any certainty=suspected
#include "tests/faults/fault.h"

enum { kMessages = 6000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  long sum = 0;
  for (int tag = 0; tag < kMessages; ++tag) {
    int value = tag;
    if (rank == 0) {
      MPI_Send(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
    } else if (rank == 1) {
      MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      sum += value;
    }
  }
  // Posted, and not yet waited for, when it is sent synchronously.
  const int last = kMessages;
  if (rank == 1) {
    MPI_Request request;
    int value = 0;
    MPI_Irecv(&value, 1, MPI_INT, 0, last, MPI_COMM_WORLD, &request);
    MPI_Recv(NULL, 0, MPI_INT, 0, last + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sum += value;
#ifdef FAULT
    const int tag = last + 3;
#else
    const int tag = last + 2;
#endif
    MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @culprit
    sum += value;
  } else if (rank == 0) {
    int value = last;
    MPI_Ssend(&value, 1, MPI_INT, 1, last, MPI_COMM_WORLD);
    MPI_Send(NULL, 0, MPI_INT, 1, last + 1, MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT, 1, last + 2, MPI_COMM_WORLD);
  }
  long total = 0;
  MPI_Allreduce(&sum, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);  // @waiting
  Report("sum", (double)total);
  MPI_Finalize();
  return 0;
}
