// Collectives on communicators of one member, on MPI_COMM_SELF, and on a group that some ranks are
// not in (MPI_UNDEFINED, MPI_Comm_create_group), in numbers that differ between ranks: correct.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Comm alone;
  MPI_Comm evens;
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 0 ? 0 : MPI_UNDEFINED, rank, &evens);
  for (int i = 0; i <= rank; ++i) {
    MPI_Barrier(alone);
    MPI_Barrier(MPI_COMM_SELF);
  }
  if (evens != MPI_COMM_NULL) {
    MPI_Barrier(evens);
    MPI_Comm_free(&evens);
  }
  if (rank >= 2) {
    const int members[2] = {2, 3};
    MPI_Group world;
    MPI_Group upper;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, members, &upper);
    MPI_Comm pair;
    MPI_Comm_create_group(MPI_COMM_WORLD, upper, 5, &pair);
    MPI_Barrier(pair);
    MPI_Comm_free(&pair);
    MPI_Group_free(&upper);
    MPI_Group_free(&world);
  }
  MPI_Comm_free(&alone);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("done", 1);
  MPI_Finalize();
  return 0;
}
