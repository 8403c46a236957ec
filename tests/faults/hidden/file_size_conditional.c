// Collective on a file, not on its communicator: a rank without rows does not set the size.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=rank-conditional-collective culprits=1 waiting=0,2 op=MPI_File_set_size seq=1
// expect+: comm!=MPI_COMM_WORLD certainty=proven
#include "tests/faults/fault.h"

static void Save(MPI_File file, int rows) {
#ifdef FAULT
  if (rows > 0)
#endif
    MPI_File_set_size(file, 1024);                                                      // @waiting
  MPI_File_write_at_all(file, 0, &rows, rows > 0 ? 1 : 0, MPI_INT, MPI_STATUS_IGNORE);  // @culprit
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  char path[64];
  snprintf(path, sizeof(path), "/tmp/rollcall-fault-%ld", (long)getpid());
  MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  Save(file, WorldRank() == 1 ? 0 : 4);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
