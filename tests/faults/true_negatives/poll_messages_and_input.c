// An event loop in each rank: it looks for messages, and then waits 150 ms at most for its own
// input, which another process writes; the answer goes to the other rank.
//
// rollcall-test: ranks=2
// expect: none
// rollcall-test: name=long ranks=2
// arguments: 12
// expect: none
#include "tests/faults/quiet.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int other = 1 - WorldRank();
  MPI_Barrier(MPI_COMM_WORLD);
  FILE* feed = StartFeed(quiet);
  int input = 0;
  int got = 0;
  MPI_Request sent = MPI_REQUEST_NULL;
  while (!input || !got) {
    int there = 0;
    MPI_Iprobe(other, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    if (there) {
      MPI_Recv(&got, 1, MPI_INT, other, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (input) {
      Sleep(0.15);
    } else if (FeedIsReadable(feed, 150)) {
      input = ReadFeed(feed);
      MPI_Isend(&input, 1, MPI_INT, other, 5, MPI_COMM_WORLD, &sent);
    }
  }
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  Report("sum", input + got);
  MPI_Finalize();
  return 0;
}
