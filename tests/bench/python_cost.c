/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of python_cost.py: calls barrier `calls` times a batch, and stores the nanoseconds per
   call of each. It is called by ctypes, so that all Python frames are its callers'. */
#include <stdint.h>
#include <time.h>

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

void measure(int (*barrier)(void*), void* comm, int batches, int calls, double* result) {
  for (int i = 0; i < batches; ++i) {
    const double start = Now();
    for (int call = 0; call < calls; ++call) barrier(comm);
    result[i] = (Now() - start) / calls;
  }
}
