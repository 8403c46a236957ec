/* SPDX-License-Identifier: Apache-2.0 */
/* Calls from inside MPI calls are the user's own where the user's callbacks make them: in an error
   handler, and in an attribute's delete function during MPI_Finalize. */
#include "isolation.h"

static void Handle(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  Barriers(1);
}

static int Delete(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm;
  (void)keyval;
  (void)extra;
  Barriers(2);
  printf("deleted %s\n", (char*)value);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(Handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  int value = 0, keyval;
  for (int i = 0; i < 3; ++i) MPI_Bcast(&value, 1, MPI_INT, 99, MPI_COMM_WORLD);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, Delete, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, (void*)"at the end");
  MPI_Finalize();
  printf("finalized\n");
  return 4;
}
