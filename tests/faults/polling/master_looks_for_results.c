// The master polls for results from any rank, every millisecond, and the workers wait for their
// first task, which it forgot to send.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=p2p-deadlock culprits=0-2 waiting=none op=any seq=any
// expect+: certainty=suspected,likely lines=culprit
#include "tests/faults/quiet.h"

enum { kTask = 1, kResult = 2 };

static int Collect(void) {
  int total = 0;
  for (int left = WorldSize() - 1; left > 0; --left) {
    MPI_Status status;
    int result = 0;
    for (;;) {
      int there = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, kResult, MPI_COMM_WORLD, &there, &status);  // @culprit
      if (there) break;
      Sleep(0.001);
    }
    MPI_Recv(&result, 1, MPI_INT, status.MPI_SOURCE, kResult, MPI_COMM_WORLD, &status);
    total += result;
  }
  return total;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int total = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (WorldRank() == 0) {
#ifdef FAULT
    const int first_task = WorldSize();
#else
    const int first_task = 1;
#endif
    for (int rank = first_task; rank < WorldSize(); ++rank) {
      MPI_Send(&rank, 1, MPI_INT, rank, kTask, MPI_COMM_WORLD);
    }
    total = Collect();
  } else {
    int task = 0;
    MPI_Recv(&task, 1, MPI_INT, 0, kTask, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @culprit
    MPI_Send(&task, 1, MPI_INT, 0, kResult, MPI_COMM_WORLD);
  }
  Report("total", total);
  MPI_Finalize();
  return 0;
}
