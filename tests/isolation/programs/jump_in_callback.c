/* SPDX-License-Identifier: Apache-2.0 */
/* A callback of MPI_Comm_free makes calls that an error handler leaves by longjmp, and returns:
 * when MPI_Comm_free has returned, no call is open. */
#include <setjmp.h>

#include "isolation.h"

static jmp_buf back;

static void Jump(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  longjmp(back, 1);
}

static int OnDelete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  for (volatile int i = 0; i < 3; ++i) {
    int number = 0;
    if (setjmp(back) == 0) MPI_Bcast(&number, 1, MPI_INT, 99, MPI_COMM_SELF);
  }
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(Jump, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  int key = 0;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, OnDelete, &key, NULL);
  MPI_Comm_set_attr(copy, key, &key);
  MPI_Comm_free(&copy);
  printf("freed\n");
  fflush(stdout);
  _Exit(0); /* the library was left in the middle of its calls */
}
