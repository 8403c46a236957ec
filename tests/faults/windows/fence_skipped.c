// A rank without a neighbour to its right skips the fence that closes the epoch, which all
// ranks of the window have to call.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=3 waiting=0-2 op=MPI_Win_fence seq=2
// expect+: comm!=MPI_COMM_WORLD certainty=proven
#include "tests/faults/fault.h"

static void Shift(MPI_Win window, int rank, double value) {
  const int right = rank + 1;
  MPI_Win_fence(0, window);
  if (right < WorldSize()) MPI_Put(&value, 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, window);
#ifdef FAULT
  if (right < WorldSize())
#endif
    MPI_Win_fence(0, window);  // @waiting
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  // Not on the stack: under MPICH 4.0.2 a put there overwrites what lies beside it.
  static double halo = 0;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(&halo, sizeof(halo), sizeof(halo), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  Shift(window, WorldRank(), 1.5);
  MPI_Barrier(MPI_COMM_WORLD);  // @culprit
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
