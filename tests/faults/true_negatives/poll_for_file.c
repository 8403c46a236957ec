// Rank 0 waits for a file that another process makes, and looks for messages while it waits; rank 1
// waits in a receive for what rank 0 reads there.
//
// rollcall-test: ranks=2
// expect: none
#include <sys/stat.h>

#include "tests/faults/quiet.h"

static int AwaitFile(const char* path) {
  struct stat found;
  int urgent = 0;
  while (!urgent && stat(path, &found) != 0) {
    MPI_Iprobe(1, 7, MPI_COMM_WORLD, &urgent, MPI_STATUS_IGNORE);
    Sleep(0.05);
  }
  return !urgent;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  int value = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (WorldRank() == 0) {
    char path[64];
    char command[160];
    snprintf(path, sizeof(path), "/tmp/rollcall-poll-for-file-%d", (int)getpid());
    snprintf(command, sizeof(command), "(sleep %.3f; : > %s) &", quiet, path);
    if (system(command) != 0) return 9;
    value = AwaitFile(path);
    unlink(path);
    MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  Report("value", value);
  MPI_Finalize();
  return 0;
}
