// Each rank has a receive from both others and tests the set between pieces of work, one by
// MPI_Testall, one by MPI_Testany, one by MPI_Testsome; all send when their work is done.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/faults/quiet.h"

enum { kPeers = 2 };

// How many of the set have completed by this look.
static int Look(int rank, MPI_Request set[kPeers]) {
  int count = 0;
  int index = 0;
  int indices[kPeers];
  if (rank == 0) {
    MPI_Testall(kPeers, set, &count, MPI_STATUSES_IGNORE);
    return count ? kPeers : 0;
  }
  if (rank == 1) {
    MPI_Testany(kPeers, set, &index, &count, MPI_STATUS_IGNORE);
    return count && index != MPI_UNDEFINED;
  }
  MPI_Testsome(kPeers, set, &count, indices, MPI_STATUSES_IGNORE);
  return count == MPI_UNDEFINED ? 0 : count;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  int got[kPeers] = {0, 0};
  MPI_Request set[kPeers];
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kPeers; ++i) {
    const int peer = (rank + 1 + i) % WorldSize();
    MPI_Irecv(&got[i], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &set[i]);
  }
  int sent = 0;
  int complete = 0;
  const double start = Now();
  while (!sent || complete < kPeers) {
    Compute(0.35);
    if (complete < kPeers) complete += Look(rank, set);
    if (!sent && Now() - start >= quiet) {
      for (int i = 0; i < kPeers; ++i) {
        MPI_Send(&rank, 1, MPI_INT, (rank + 1 + i) % WorldSize(), 1, MPI_COMM_WORLD);
      }
      sent = 1;
    }
  }
  Report("sum", got[0] + got[1]);
  MPI_Finalize();
  return 0;
}
