/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of this directory share. Each does one thing that an injected library could
   break, and prints what it saw; it must print and return the same with and without the library. */
#ifndef ROLLCALL_TESTS_HARMS_ISOLATION_H_
#define ROLLCALL_TESTS_HARMS_ISOLATION_H_

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends with a code that no program here uses otherwise. */
#define REQUIRE(condition)                                                      \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      _Exit(70);                                                                \
    }                                                                           \
  } while (0)

static inline void Barriers(int count) {
  for (int i = 0; i < count; ++i) REQUIRE(MPI_Barrier(MPI_COMM_SELF) == MPI_SUCCESS);
}

static inline void Allreduces(int count) {
  for (int i = 0; i < count; ++i) {
    int in = i, out = -1;
    REQUIRE(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF) == MPI_SUCCESS);
    REQUIRE(out == i);
  }
}

#endif
