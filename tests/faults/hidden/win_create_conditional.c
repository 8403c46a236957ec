// MPI_Win_create is collective; the last rank has no memory to expose and skips it.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=rank-conditional-collective culprits=2 waiting=0,1 op=MPI_Win_create seq=2
// expect+: certainty=proven
#include "tests/faults/fault.h"

static void Expose(double* memory, int rank) {
  MPI_Win window = MPI_WIN_NULL;
#ifdef FAULT
  if (rank != 2)
#else
  if (rank >= 0)
#endif
  {
    MPI_Win_create(memory, 64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);  // @waiting
  }
  MPI_Barrier(MPI_COMM_WORLD);  // @culprit
  if (window != MPI_WIN_NULL) MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double memory[8] = {0};
  MPI_Barrier(MPI_COMM_WORLD);
  Expose(memory, WorldRank());
  Report("exposed", 1);
  MPI_Finalize();
  return 0;
}
