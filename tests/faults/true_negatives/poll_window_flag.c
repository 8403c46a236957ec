// Ranks read a flag in a window every 10 ms, each time in an epoch of its own (lock, get, unlock),
// until the rank that computes sets it.
//
// rollcall-test: ranks=3
// expect: none
// rollcall-test: name=long ranks=3
// arguments: 12
// expect: none
#include "tests/faults/quiet.h"

enum { kHome = 0, kSetter = 2 };

static int ReadFlag(MPI_Win window) {
  int flag = 0;
  MPI_Win_lock(MPI_LOCK_SHARED, kHome, 0, window);
  MPI_Get(&flag, 1, MPI_INT, kHome, 0, 1, MPI_INT, window);
  MPI_Win_unlock(kHome, window);
  return flag;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  static int flag = 0;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(&flag, sizeof(flag), sizeof(flag), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (WorldRank() == kSetter) {
    Compute(quiet);
    const int one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kHome, 0, window);
    MPI_Put(&one, 1, MPI_INT, kHome, 0, 1, MPI_INT, window);
    MPI_Win_unlock(kHome, window);
  }
  int seen = ReadFlag(window);
  while (!seen) {
    // Not at once: an exclusive lock may never be granted where shared ones follow each other.
    Sleep(0.01);
    seen = ReadFlag(window);
  }
  MPI_Win_free(&window);
  Report("seen", seen);
  MPI_Finalize();
  return 0;
}
