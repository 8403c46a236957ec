/* SPDX-License-Identifier: Apache-2.0 */
/* exit() inside an atexit handler, while exit() runs: undefined by C, defined by glibc (the rest of
   the handlers runs, the last code counts), and met in the wild. */
#include "isolation.h"

static void First(void) { printf("the handler that was registered first\n"); }
static void Again(void) {
  printf("exit again\n");
  exit(21);
}

int main(int argc, char** argv) {
  atexit(First);
  atexit(Again);
  MPI_Init(&argc, &argv);
  Barriers(2);
  MPI_Finalize();
  return 20;
}
