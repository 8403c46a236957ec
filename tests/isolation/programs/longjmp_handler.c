/* SPDX-License-Identifier: Apache-2.0 */
/* longjmp out of an error handler leaves MPI calls without their return: what comes after still
 * counts. */
#include <setjmp.h>

#include "isolation.h"

static jmp_buf back;

static void Jump(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  longjmp(back, 1);
}

__attribute__((noinline)) static void Fail(int levels) {
  volatile char room[256];
  room[0] = (char)levels;
  if (levels > 0) {
    Fail(levels - 1);
  } else {
    MPI_Bcast(&levels, 1, MPI_INT, 99, MPI_COMM_SELF);
  }
  REQUIRE(room[0] == (char)levels);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(Jump, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  volatile int jumps = 0;
  for (volatile int i = 0; i < 10; ++i) {
    if (setjmp(back) == 0) {
      Fail(i);
    } else {
      ++jumps;
    }
    Barriers(2);
  }
  Allreduces(7);
  printf("jumps %d\n", jumps);
  fflush(stdout);
  _Exit(0); /* the library was left in the middle of its calls */
}
