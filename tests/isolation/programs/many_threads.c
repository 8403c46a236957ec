/* SPDX-License-Identifier: Apache-2.0 */
/* More threads at once than there is room for in any table: 200 that all wait until each has
 * called. */
#include <pthread.h>

#include "isolation.h"

static pthread_barrier_t all;

static void* Once(void* ignored) {
  (void)ignored;
  REQUIRE(MPI_Barrier(MPI_COMM_SELF) == MPI_SUCCESS);
  pthread_barrier_wait(&all);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  pthread_t threads[200];
  pthread_barrier_init(&all, NULL, 200);
  for (int i = 0; i < 200; ++i) REQUIRE(pthread_create(&threads[i], NULL, Once, NULL) == 0);
  for (int i = 0; i < 200; ++i) REQUIRE(pthread_join(threads[i], NULL) == 0);
  printf("joined\n");
  MPI_Finalize();
  return 0;
}
