/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_THREAD_MULTIPLE: four threads that stay, then 150 that call once and end, some on the
 * smallest stacks. */
#include <limits.h>
#include <pthread.h>

#include "isolation.h"

static void* Stay(void* comm) {
  for (int i = 0; i < 500; ++i) {
    int in = i, out = 0;
    REQUIRE(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MAX, *(MPI_Comm*)comm) == MPI_SUCCESS);
    REQUIRE(out == i);
  }
  return NULL;
}

static void* Once(void* comm) {
  REQUIRE(MPI_Barrier(*(MPI_Comm*)comm) == MPI_SUCCESS);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  printf("provided %d\n", provided == MPI_THREAD_MULTIPLE);
  MPI_Comm comms[4];
  pthread_t threads[8];
  for (int i = 0; i < 4; ++i) MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
  for (int i = 0; i < 4; ++i) REQUIRE(pthread_create(&threads[i], NULL, Stay, &comms[i]) == 0);
  for (int i = 0; i < 4; ++i) REQUIRE(pthread_join(threads[i], NULL) == 0);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 * 1024);
  for (int i = 0; i < 150; i += 3) {
    for (int j = 0; j < 3; ++j) REQUIRE(pthread_create(&threads[j], &small, Once, &comms[j]) == 0);
    for (int j = 0; j < 3; ++j) REQUIRE(pthread_join(threads[j], NULL) == 0);
  }
  for (int i = 0; i < 4; ++i) MPI_Comm_free(&comms[i]);
  printf("joined\n");
  MPI_Finalize();
  return 0;
}
