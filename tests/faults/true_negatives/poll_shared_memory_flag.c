// Ranks of one node wait for a flag in shared memory, which no call shows, until another sets it.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/faults/quiet.h"

enum { kSetter = 1 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int rank = WorldRank();
  MPI_Win window = MPI_WIN_NULL;
  int* own = NULL;
  MPI_Win_allocate_shared(rank == 0 ? (MPI_Aint)sizeof(int) : 0, sizeof(int), MPI_INFO_NULL,
                          MPI_COMM_WORLD, &own, &window);
  volatile int* flag = NULL;
  MPI_Aint size = 0;
  int unit = 0;
  MPI_Win_shared_query(window, 0, &size, &unit, (void*)&flag);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  if (rank == 0) *flag = 0;
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == kSetter) {
    Compute(quiet);
    *flag = 1;
    MPI_Win_sync(window);
  }
  while (*flag == 0) {
    if (rank == 0) MPI_Win_sync(window);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  Report("done", 1);
  MPI_Finalize();
  return 0;
}
