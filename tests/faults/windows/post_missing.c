// Rank 0 opens an access to the memory of its neighbour, which does not expose it, and continues.
// No record shows which rank it is: the verdict names the call without a counterpart, and no rank.
//
// rollcall-test: ranks=4 outcome=hung stall-after=4
// expect: kind=p2p-unmatched culprits=none waiting=0 op=any seq=any
// expect+: certainty=suspected
#include "tests/faults/fault.h"

enum { kNeighbour = 1 };

static MPI_Group Only(int rank) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &rank, &group);
  MPI_Group_free(&world);
  return group;
}

static void Access(MPI_Win window, double value) {
  MPI_Group group = Only(kNeighbour);
  MPI_Win_start(group, 0, window);  // @waiting
  MPI_Put(&value, 1, MPI_DOUBLE, kNeighbour, 0, 1, MPI_DOUBLE, window);
  MPI_Win_complete(window);
  MPI_Group_free(&group);
}

static void Expose(MPI_Win window) {
  MPI_Group group = Only(0);
  MPI_Win_post(group, 0, window);
  MPI_Win_wait(window);
  MPI_Group_free(&group);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  // Not on the stack: under MPICH 4.0.2 a put there overwrites what lies beside it.
  static double halo = 0;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(&halo, sizeof(halo), sizeof(halo), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (rank == 0) Access(window, 2.5);
#ifdef FAULT
  if (rank == kNeighbour && halo != 0) Expose(window);
#else
  if (rank == kNeighbour) Expose(window);
#endif
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
