// A rank runs a command and forks a child that ends by _exit, between collectives: the children are
// not ranks, and their ends are not deaths of ranks. Correct.
//
// rollcall-test: ranks=2
// expect: none
#include <sys/wait.h>

#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  int status = -1;
  if (WorldRank() == 0) {
    const pid_t child = fork();
    if (child == 0) _exit(5);
    waitpid(child, &status, 0);
    status = WEXITSTATUS(status) + system("exit 0");
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  Report("child", status);
  MPI_Finalize();
  return 0;
}
