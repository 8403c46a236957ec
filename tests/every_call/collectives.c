// SPDX-License-Identifier: Apache-2.0
// Every collective, blocking, nonblocking and persistent, plain and with large counts.
#include "tests/every_call/every_call.h"

static MPI_Request request = MPI_REQUEST_NULL;

static int in[4];
static int out[4];

static void Clear(int rank) {
  for (int i = 0; i < 4; ++i) {
    in[i] = 10 * rank + i;
    out[i] = rank == 0 ? i : 0;
  }
}

// As a persistent one is meant to be used.
static void RunTwice(void) {
  for (int i = 0; i < 2; ++i) {
    DO(MPI_Start, &request);
    DO(MPI_Wait, &request, MPI_STATUS_IGNORE);
  }
  DO(MPI_Request_free, &request);
}

#define BLOCKING(function, ...) \
  Clear(rank);                  \
  DO(function, __VA_ARGS__);    \
  Observe(out, sizeof(out));
#define NONBLOCKING(function, ...)           \
  Clear(rank);                               \
  DO(function, __VA_ARGS__, &request);       \
  DO(MPI_Wait, &request, MPI_STATUS_IGNORE); \
  Observe(out, sizeof(out));
#define PERSISTENT(function, ...)                     \
  Clear(rank);                                        \
  DO(function, __VA_ARGS__, MPI_INFO_NULL, &request); \
  RunTwice();                                         \
  Observe(out, sizeof(out));

int main(int argc, char** argv) {
  DO(MPI_Init, &argc, &argv);
  const MPI_Comm world = MPI_COMM_WORLD;
  const int rank = WorldRank();
  // Two ranks in a ring: each has the other as both its neighbours.
  MPI_Comm cart = MPI_COMM_NULL;
  const int size = 2;
  const int periodic = 1;
  DO(MPI_Cart_create, world, 1, &size, &periodic, 0, &cart);

  const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  const MPI_Aint places[2] = {0, 2 * sizeof(int)};
  const int counts[2] = {2, 2};
  const int displs[2] = {0, 2};
  const int bytes[2] = {0, 2 * sizeof(int)};
#define COUNTS counts
#define DISPLS displs
#define BYTES bytes
#define EVERY(name, lower, ...)     \
  BLOCKING(MPI_##name, __VA_ARGS__) \
  NONBLOCKING(MPI_I##lower, __VA_ARGS__)
#include "tests/every_call/collectives.h"
#undef EVERY
#ifdef EVERY_INIT
#define EVERY(name, lower, ...) PERSISTENT(EVERY_INIT(name), __VA_ARGS__)
#include "tests/every_call/collectives.h"
#undef EVERY
#endif
#undef COUNTS
#undef DISPLS
#undef BYTES

#if MPI_VERSION >= 4
  const MPI_Count large_counts[2] = {2, 2};
  const MPI_Aint large_displs[2] = {0, 2};
#define LARGE
#define COUNTS large_counts
#define DISPLS large_displs
#define BYTES places
#define EVERY(name, lower, ...)              \
  BLOCKING(MPI_##name##_c, __VA_ARGS__)      \
  NONBLOCKING(MPI_I##lower##_c, __VA_ARGS__) \
  PERSISTENT(MPI_##name##_init_c, __VA_ARGS__)
#include "tests/every_call/collectives.h"
#endif
  DO(MPI_Comm_free, &cart);
  DO(MPI_Finalize);
  return Finish("rank", rank);
}
