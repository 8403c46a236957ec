// SPDX-License-Identifier: Apache-2.0
// The job of check's tests: healthy steps, and then what the mode leaves behind.
//
//   leftovers MODE
//   clean       an Isend that nobody waits for, received; communicators are freed in another order
//   message     rank 0 sends what nobody receives       broadcast   only the root broadcasts
//   request     a persistent request that is never freed
//   communicator  a duplicate that is never freed       wildcards   receives from anybody, any tag
//   late        rank 0 sleeps longer than it is given   fails       every rank ends with 7
//   serves      sends itself messages for ever, while a thread of each rank receives from the next
//   one
//               (MPI_THREAD_MULTIPLE)
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kSteps = 20, kSafetyNetSeconds = 120, kSleepSeconds = 60, kExitCode = 7 };
enum { kServeMicroseconds = 20000 };

static int Is(const char* mode, const char* name) { return strcmp(mode, name) == 0; }

static void Step(int rank) {
  int token = rank;
  int sum = 0;
  for (int step = 0; step < kSteps; ++step) {
    MPI_Allreduce(&token, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

static void FreeInAnyOrder(int rank) {
  MPI_Comm comms[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_free(&comms[rank % 2]);
  MPI_Comm_free(&comms[1 - rank % 2]);
}

// Legal enough: the message is received, and libraries complete it in MPI_Finalize.
static void LeaveSend(int rank, int peer) {
  static int word = 1;
  MPI_Request request;
  if (rank == 0) {
    MPI_Isend(&word, 1, MPI_INT, peer, 5, MPI_COMM_WORLD, &request);
  } else if (rank == peer) {
    MPI_Recv(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void KeepPersistent(int rank, int size) {
  static int word = 1;
  MPI_Request request;
  if (rank == 0) {
    MPI_Send_init(&word, 1, MPI_INT, size - 1, 6, MPI_COMM_WORLD, &request);
    MPI_Start(&request);  // @request
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == size - 1) {
    MPI_Recv(&word, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void Wildcards(int rank, int size) {
  int word = rank;
  if (rank != 0) MPI_Send(&word, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
  for (int i = 1; rank == 0 && i < size; ++i) {
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void* Receive(void* unused) {
  int word = 0;
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Recv(&word, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return unused;
}

static void ServeForEver(void) {
  int words[2] = {0, 0};
  pthread_t thread;
  if (pthread_create(&thread, NULL, Receive, NULL) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  for (;;) {
    MPI_Sendrecv(&words[0], 1, MPI_INT, 0, 8, &words[1], 1, MPI_INT, 0, 8, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    usleep(kServeMicroseconds);
  }
}

int main(int argc, char** argv) {
  alarm(kSafetyNetSeconds);
  const char* mode = argc > 1 ? argv[1] : "clean";
  int rank = 0;
  int size = 0;
  int word = 1;
  MPI_Comm kept;
  int level = 0;
  MPI_Init_thread(&argc, &argv, Is(mode, "serves") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Step(rank);
  if (Is(mode, "clean")) {
    FreeInAnyOrder(rank);
    LeaveSend(rank, size - 1);
  }
  if (Is(mode, "message") && rank == 0) {
    MPI_Send(&word, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);  // @message
  }
  if (Is(mode, "broadcast") && rank == 0) {
    MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);  // @broadcast
  }
  if (Is(mode, "request")) KeepPersistent(rank, size);
  if (Is(mode, "communicator")) MPI_Comm_dup(MPI_COMM_WORLD, &kept);  // @communicator
  if (Is(mode, "wildcards")) Wildcards(rank, size);
  if (Is(mode, "late") && rank == 0) sleep(kSleepSeconds);
  if (Is(mode, "serves")) ServeForEver();
  MPI_Finalize();
  return Is(mode, "fails") ? kExitCode : 0;
}
