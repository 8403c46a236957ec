// SPDX-License-Identifier: Apache-2.0
// Computes a checksum over messages, files and pipes, again and again until a file appears, and
// compares each time with the first one. A rank that looks of a debugger change in any way prints
// another line, or ends with another code.
//
//   checksum_job GATE DIRECTORY    GATE is the file; the ranks' files are written in DIRECTORY
//
// How often it was done, and how many calls failed with EINTR that fail where a thread is stopped,
// is on stderr.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

// The safety net, and what a round exchanges: messages that are copied, and such that are fetched.
enum {
  kMostSeconds = 3600,
  kRounds = 8,
  kSmall = 1 << 10,
  kLarge = 1 << 17,
  kFileBytes = 1 << 15,
  kExitCode = 7
};

static int g_rank, g_size;
static uint64_t g_out[kLarge / 8], g_in[kLarge / 8];

// In one round each of these passes on what the main thread gives it, by a call of its own: a read
// that a stop restarts, a sleep, and a wait that a stop makes fail.
static int g_pipe[2], g_event, g_poll;
static _Atomic uint64_t g_piped, g_slept, g_polled, g_interrupted, g_broken;

static void Fail(const char* what) {
  fprintf(stderr, "rank %d: %s: %s\n", g_rank, what, strerror(errno));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static uint64_t Mixed(uint64_t sum, uint64_t value) {
  sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
  return sum ^ (sum >> 29);
}

static uint64_t MixedAll(uint64_t sum, const uint64_t* values, int bytes) {
  for (int i = 0; i < bytes / 8; ++i) sum = Mixed(sum, values[i]);
  return sum;
}

static void* PassPiped(void* unused) {
  uint64_t value;
  ssize_t got;
  while ((got = read(g_pipe[0], &value, sizeof(value))) != 0) {
    if (got != sizeof(value)) ++g_broken;
    g_piped += value;
  }
  return unused;
}

static void* Sleep(void* unused) {
  const struct timespec pause = {0, 2000000};
  for (;;) {
    if (nanosleep(&pause, NULL) != 0) ++g_broken;
    ++g_slept;
  }
  return unused;
}

static void* PassPolled(void* unused) {
  // A frame of unknown size: the stack cannot be followed without the thread's registers.
  volatile char* const room = __builtin_alloca((size_t)g_size);
  for (;;) {
    room[0] = 1;
    struct epoll_event event;
    uint64_t value;
    const int ready = epoll_wait(g_poll, &event, 1, -1);
    if (ready < 0 && errno == EINTR) {
      ++g_interrupted;
    } else if (ready != 1 || read(g_event, &value, sizeof(value)) != sizeof(value)) {
      ++g_broken;
    } else {
      g_polled += value;
    }
  }
  return unused;
}

static void StartThreads(void) {
  void* (*const bodies[])(void*) = {PassPiped, Sleep, PassPolled};
  struct epoll_event event = {.events = EPOLLIN};
  g_event = eventfd(0, 0);
  g_poll = epoll_create1(0);
  if (pipe(g_pipe) != 0 || epoll_ctl(g_poll, EPOLL_CTL_ADD, g_event, &event) != 0)
    Fail("descriptors");
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, bodies[i], NULL) != 0) Fail("pthread_create");
  }
}

static uint64_t ThroughThreads(uint64_t sum, uint64_t round) {
  const uint64_t value = sum >> 32, before = g_piped, polled = g_polled;
  if (write(g_pipe[1], &value, sizeof(value)) != sizeof(value)) Fail("pipe");
  if (write(g_event, &round, sizeof(round)) != sizeof(round)) Fail("eventfd");
  while (g_broken == 0 && (g_piped != before + value || g_polled != polled + round)) sched_yield();
  return Mixed(sum, g_piped - before);
}

static uint64_t ThroughFile(uint64_t sum, const char* path) {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || write(file, g_in, kFileBytes) != kFileBytes) Fail(path);
  memset(g_out, 0, kFileBytes);
  if (pread(file, g_out, kFileBytes, 0) != kFileBytes || close(file) != 0) Fail(path);
  return MixedAll(sum, g_out, kFileBytes);
}

static uint64_t Exchanged(uint64_t sum, int bytes) {
  const int right = (g_rank + 1) % g_size, left = (g_rank + g_size - 1) % g_size;
  for (int i = 0; i < bytes / 8; ++i) g_out[i] = sum * (uint64_t)(2 * i + 1);
  MPI_Request requests[2];
  MPI_Irecv(g_in, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(g_out, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 2; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  return MixedAll(sum, g_in, bytes);
}

static uint64_t Checksum(const char* path) {
  uint64_t sum = (uint64_t)g_rank + 1, all = 0, first = 0;
  for (uint64_t round = 1; round <= kRounds; ++round) {
    sum = Exchanged(sum, kSmall);
    sum = Exchanged(sum, kLarge);
    sum = ThroughFile(sum, path);
    sum = ThroughThreads(sum, round);
    MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    first = sum;
    MPI_Bcast(&first, 1, MPI_UINT64_T, (int)(round % (uint64_t)g_size), MPI_COMM_WORLD);
    sum = Mixed(Mixed(sum, all), first);
  }
  return sum;
}

int main(int argc, char** argv) {
  alarm(kMostSeconds);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  if (argc != 3) Fail("usage: checksum_job GATE DIRECTORY");
  char path[PATH_MAX];
  snprintf(path, sizeof(path), "%s/rank%d", argv[2], g_rank);
  StartThreads();
  const uint64_t first = Checksum(path);
  uint64_t times = 1, others = 0;
  if (g_rank == 0) {
    printf("computing\n");
    fflush(stdout);
  }
  for (int open = 0;; ++times) {
    if (g_rank == 0) open = access(argv[1], F_OK) == 0;
    MPI_Bcast(&open, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (open) break;
    others += Checksum(path) != first;
  }
  uint64_t line[4] = {first, others, g_broken, g_interrupted}, lines[4 * 64] = {0};
  if (g_size > 64) Fail("too many ranks");
  MPI_Gather(line, 4, MPI_UINT64_T, lines, 4, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  uint64_t wrong = 0, interrupted = 0;
  for (int rank = 0; g_rank == 0 && rank < g_size; ++rank) {
    const uint64_t* one = lines + 4 * rank;
    printf("rank %d: %016llx, %llu others, %llu calls failed\n", rank, (unsigned long long)one[0],
           (unsigned long long)one[1], (unsigned long long)one[2]);
    wrong += one[1] + one[2];
    interrupted += one[3];
  }
  if (g_rank == 0) {
    fprintf(stderr, "times %llu interrupted %llu\n", (unsigned long long)times,
            (unsigned long long)interrupted);
  }
  // Before another rank can end: Open MPI's launcher kills the others when one ends with this code.
  fflush(stdout);
  MPI_Bcast(&wrong, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  // Without the destructors, which the other threads would meet.
  _exit(wrong == 0 ? kExitCode : 1);
}
