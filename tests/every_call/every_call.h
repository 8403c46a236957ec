// SPDX-License-Identifier: Apache-2.0
// What the programs of this directory share: together they call every function of
// proto/functions.def that their MPI has, and write down how often. every_call.py compares that
// with the rings.
#ifndef ROLLCALL_TESTS_EVERY_CALL_EVERY_CALL_H_
#define ROLLCALL_TESTS_EVERY_CALL_EVERY_CALL_H_

#include <stdint.h>
#include <string.h>

#include "tests/faults/fault.h"

// EVERY_INIT(Bcast) makes a persistent collective. Open MPI 4.1 has them as an extension.
#if MPI_VERSION >= 4
#define EVERY_INIT(name) MPI_##name##_init
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#define EVERY_INIT(name) MPIX_##name##_init
#endif

enum { kMaxNames = 512 };

static struct {
  const char* name;
  int count;
} every_counts[kMaxNames];
static uint64_t every_hash = 14695981039346656037u;

static inline void Count(const char* name) {
  int at = 0;
  while (every_counts[at].name != NULL && strcmp(every_counts[at].name, name) != 0) ++at;
  every_counts[at].name = name;
  ++every_counts[at].count;
}

static inline void Require(const char* what, int is_true) {
  if (is_true) return;
  fprintf(stderr, "failed: %s\n", what);
  _exit(70);
}

// DO(MPI_Barrier, comm): calls it, and ends the program if it fails.
#define DO(...) EVERY_DO(__VA_ARGS__)
#define EVERY_DO(name, ...) (Count(#name), Require(#name, name(__VA_ARGS__) == MPI_SUCCESS))

// POLL(flag, MPI_Test, &request, &flag, …): until it succeeds; calls in vain leave no record.
#define POLL(flag, ...) EVERY_POLL(flag, __VA_ARGS__)
#define EVERY_POLL(flag, name, ...)                   \
  do {                                                \
    Require(#name, name(__VA_ARGS__) == MPI_SUCCESS); \
  } while (!(flag));                                  \
  Count(#name)

// What a call brought: all of it is in the one line that each rank prints at its end.
static inline void Observe(const void* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    every_hash = (every_hash ^ ((const unsigned char*)data)[i]) * 1099511628211u;
  }
}

// What a program returns, after MPI_Finalize.
static inline int Finish(const char* who, int rank) {
  printf("%s %d saw %016llx\n", who, rank, (unsigned long long)every_hash);
  const char* directory = getenv("EVERY_CALL_DIR");
  if (directory == NULL) return 0;
  char path[4096];
  snprintf(path, sizeof(path), "%s/%ld", directory, (long)getpid());
  FILE* file = fopen(path, "w");
  Require("the list of calls", file != NULL);
  for (int i = 0; every_counts[i].name != NULL; ++i) {
    fprintf(file, "%s %d\n", every_counts[i].name, every_counts[i].count);
  }
  return fclose(file);
}

#endif  // ROLLCALL_TESTS_EVERY_CALL_EVERY_CALL_H_
