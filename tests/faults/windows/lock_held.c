// Rank 0 locks the counter of rank 2 and waits for all in a barrier before it unlocks it; rank 1
// cannot reach the barrier, because it waits for the lock.
//
// rollcall-test: ranks=3 outcome=hung stall-after=4
// expect: kind=p2p-unmatched culprits=0 waiting=1 op=any seq=any
// expect+: certainty=suspected
#include "tests/faults/fault.h"

enum { kHome = 2 };

static void Add(MPI_Win window, int value) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kHome, 0, window);  // @waiting
  MPI_Accumulate(&value, 1, MPI_INT, kHome, 0, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_flush(kHome, window);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  static int counter = 0;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(&counter, sizeof(counter), sizeof(counter), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &window);
  if (rank == 0) {
    Add(window, 1);
#ifndef FAULT
    MPI_Win_unlock(kHome, window);
#endif
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    Add(window, 1);
    MPI_Win_unlock(kHome, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef FAULT
  if (rank == 0) MPI_Win_unlock(kHome, window);
#endif
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
