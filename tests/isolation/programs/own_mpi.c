/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the MPI functions itself, as a program with a statically linked MPI does: the preload
   cannot see them, and must not get between. */
#include <stdio.h>

int MPI_Init(int* argc, char*** argv);
int MPI_Barrier(int comm);
int MPI_Finalize(void);

static int calls;

int MPI_Init(int* argc, char*** argv) {
  (void)argc;
  (void)argv;
  return ++calls == 1 ? 0 : 1;
}
int MPI_Barrier(int comm) { return comm == 7 && ++calls ? 0 : 1; }
int MPI_Finalize(void) { return ++calls == 12 ? 0 : 1; }

int main(int argc, char** argv) {
  int errors = MPI_Init(&argc, &argv);
  for (int i = 0; i < 10; ++i) errors += MPI_Barrier(7);
  errors += MPI_Finalize();
  printf("errors %d, calls %d\n", errors, calls);
  return errors;
}
