// Rank 0 alone "writes the result": MPI_File_open on the world is a collective, hidden in a helper.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=rank-conditional-collective culprits=0 waiting=1,2 op=MPI_File_open seq=2
// expect+: certainty=proven
#include "tests/faults/fault.h"

static void Save(int rank) {
  MPI_File file = MPI_FILE_NULL;
#ifdef FAULT
  if (rank == 0)
#else
  if (rank >= 0)
#endif
  {
    MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);  // @culprit
  }
  MPI_Barrier(MPI_COMM_WORLD);  // @waiting
  if (file != MPI_FILE_NULL) MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  Save(WorldRank());
  Report("saved", 1);
  MPI_Finalize();
  return 0;
}
