/* SPDX-License-Identifier: Apache-2.0 */
/* errno after an MPI call is what the MPI library leaves there: tools that make system calls of
   their own must put it back, also at the first sight of a call path and in a new thread. */
#include <errno.h>
#include <pthread.h>

#include "isolation.h"

__attribute__((noinline)) static int Deeper(int levels) {
  if (levels > 0) return Deeper(levels - 1) + 0 * levels;
  errno = 4711;
  MPI_Barrier(MPI_COMM_SELF);
  return errno;
}

static void* InThread(void* result) {
  *(int*)result = Deeper(3);
  return NULL;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int kept = 0;
  for (int i = 0; i < 30; ++i) kept += Deeper(i) == 4711;
  for (int i = 0; i < 30; ++i) kept += Deeper(i) == 4711;
  MPI_Comm dup;
  errno = 4712;
  MPI_Comm_dup(MPI_COMM_SELF, &dup);
  printf("kept %d, after dup %d\n", kept, errno == 4712);
  pthread_t thread;
  int result = 0;
  pthread_create(&thread, NULL, InThread, &result);
  pthread_join(thread, NULL);
  printf("in a thread %d\n", result);
  MPI_Comm_free(&dup);
  MPI_Finalize();
  return 0;
}
