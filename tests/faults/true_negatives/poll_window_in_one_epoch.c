// Ranks read a flag in a window again and again, without a pause and inside one long epoch (get,
// flush), until the rank that computes puts it there.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/faults/quiet.h"

enum { kHome = 0, kSetter = 2 };

static int ReadFlag(MPI_Win window) {
  int flag = 0;
  MPI_Get(&flag, 1, MPI_INT, kHome, 0, 1, MPI_INT, window);
  MPI_Win_flush(kHome, window);
  return flag;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  static int flag = 0;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(&flag, sizeof(flag), sizeof(flag), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_lock_all(0, window);
  if (WorldRank() == kSetter) {
    Compute(quiet);
    const int one = 1;
    MPI_Put(&one, 1, MPI_INT, kHome, 0, 1, MPI_INT, window);
    MPI_Win_flush(kHome, window);
  }
  int seen = 0;
  while (!seen) seen = ReadFlag(window);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  Report("seen", seen);
  MPI_Finalize();
  return 0;
}
