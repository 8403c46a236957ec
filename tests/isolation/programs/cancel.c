/* SPDX-License-Identifier: Apache-2.0 */
/* A thread is cancelled inside an MPI call: the C library unwinds through it, and runs what the
 * thread pushed. */
#include <pthread.h>
#include <unistd.h>

#include "isolation.h"

static volatile int inside, cleaned;

static void CleanUp(void* ignored) {
  (void)ignored;
  cleaned = 1;
}

static int Linger(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm;
  (void)keyval;
  (void)value;
  (void)extra;
  inside = 1;
  while (inside) pause(); /* a cancellation point */
  return MPI_SUCCESS;
}

static void* Wait(void* ignored) {
  pthread_cleanup_push(CleanUp, NULL);
  MPI_Comm dup;
  int keyval;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, Linger, &keyval, NULL);
  MPI_Comm_dup(MPI_COMM_SELF, &dup);
  MPI_Comm_set_attr(dup, keyval, NULL);
  MPI_Comm_free(&dup); /* calls Linger */
  pthread_cleanup_pop(0);
  return ignored;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, Wait, NULL) == 0);
  while (!inside) usleep(1000);
  REQUIRE(pthread_cancel(thread) == 0);
  void* result = NULL;
  REQUIRE(pthread_join(thread, &result) == 0);
  printf("cancelled %d, cleaned up %d\n", result == PTHREAD_CANCELED, cleaned);
  fflush(stdout);
  _Exit(0); /* the library was left in the middle of a call */
}
