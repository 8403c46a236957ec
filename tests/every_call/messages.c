// SPDX-License-Identifier: Apache-2.0
// Every point-to-point function, plain and with large counts: rank 0 sends to rank 1.
#include "tests/every_call/every_call.h"

enum { kCount = 3, kToken = 90 };

static MPI_Comm comm;
static int data[kCount];
static int second[kCount];
static MPI_Request request = MPI_REQUEST_NULL;
static MPI_Status status;
static int flag;

static void Fill(int rank) {
  for (int i = 0; i < kCount; ++i) {
    data[i] = rank == 0 ? i + 5 : 0;
    second[i] = 0;
  }
}

// Rank 0 goes on after rank 1 has come this far.
static void Ready(int rank) {
  if (rank == 1) {
    DO(MPI_Send, NULL, 0, MPI_INT, 0, kToken, comm);
  } else {
    DO(MPI_Recv, NULL, 0, MPI_INT, 1, kToken, comm, MPI_STATUS_IGNORE);
  }
}

#define WAIT() DO(MPI_Wait, &request, MPI_STATUS_IGNORE)
#define SEND_FORM(call)                                               \
  Fill(rank);                                                         \
  if (rank == 1) {                                                    \
    DO(NAME(MPI_Irecv), data, kCount, MPI_INT, 0, 1, comm, &request); \
    Ready(rank);                                                      \
    WAIT();                                                           \
    Observe(data, sizeof(data));                                      \
  } else {                                                            \
    Ready(rank);                                                      \
    call                                                              \
  }
#define MESSAGE data, kCount, MPI_INT, 1, 1, comm
#define SENDS(name, lower)                                                                   \
  SEND_FORM(DO(NAME(MPI_##name), MESSAGE);)                                                  \
  SEND_FORM(DO(NAME(MPI_I##lower), MESSAGE, &request); WAIT();)                              \
  SEND_FORM(DO(NAME(MPI_##name##_init), MESSAGE, &request); DO(MPI_Start, &request); WAIT(); \
            DO(MPI_Request_free, &request);)

#if MPI_VERSION >= 4
static void Partitions(int rank) {
  enum { kPartitions = 6 };
  int parts[kPartitions];
  for (int i = 0; i < kPartitions; ++i) parts[i] = rank == 0 ? 20 + i : 0;
  if (rank == 0) {
    DO(MPI_Psend_init, parts, kPartitions, 1, MPI_INT, 1, 3, comm, MPI_INFO_NULL, &request);
    DO(MPI_Start, &request);
    int list[2] = {5, 3};
    DO(MPI_Pready, 4, request);
    DO(MPI_Pready_range, 0, 2, request);
    DO(MPI_Pready_list, 2, list, request);
  } else {
    DO(MPI_Precv_init, parts, kPartitions, 1, MPI_INT, 0, 3, comm, MPI_INFO_NULL, &request);
    DO(MPI_Start, &request);
    POLL(flag, MPI_Parrived, request, 2, &flag);
  }
  WAIT();
  Observe(parts, sizeof(parts));
  DO(MPI_Request_free, &request);
}
#endif

// A receive that nothing answers is taken back.
static void CancelOne(void) {
  DO(MPI_Irecv, second, kCount, MPI_INT, MPI_ANY_SOURCE, 77, comm, &request);
  DO(MPI_Cancel, &request);
  WAIT();
}

int main(int argc, char** argv) {
  DO(MPI_Init, &argc, &argv);
  comm = MPI_COMM_WORLD;
  const int rank = WorldRank();
  const int other = 1 - rank;
  char buffer[4096];
  void* detached = NULL;
  MPI_Buffer_attach(buffer, sizeof(buffer));
#define NAME(name) name
#include "tests/every_call/messages.h"
  int size = 0;
  DO(MPI_Buffer_detach, &detached, &size);
#if MPI_VERSION >= 4
  MPI_Buffer_attach(buffer, sizeof(buffer));
#undef NAME
#define NAME(name) name##_c
#include "tests/every_call/messages.h"
  MPI_Count large_size = 0;
  DO(MPI_Buffer_detach_c, &detached, &large_size);
  Partitions(rank);
#endif
  CancelOne();
  DO(MPI_Finalize);
  return Finish("rank", rank);
}
