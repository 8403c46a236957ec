/* SPDX-License-Identifier: Apache-2.0 */
/* How a process leaves, by the first argument; the code must stay what it is. */
#include <signal.h>
#include <unistd.h>

#include "isolation.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Barriers(3);
  const char* how = argv[1];
  printf("%s\n", how);
  fflush(stdout);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 33);
  if (strcmp(how, "fatal") == 0) MPI_Bcast(&argc, 1, MPI_INT, 99, MPI_COMM_WORLD);
  if (strcmp(how, "exit") == 0) exit(34);
  if (strcmp(how, "_exit") == 0) _exit(35);
  if (strcmp(how, "quick_exit") == 0) quick_exit(36);
  if (strcmp(how, "segv") == 0) raise(SIGSEGV);
  if (strcmp(how, "return") == 0) return 37;
  return 70;
}
