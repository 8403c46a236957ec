// SPDX-License-Identifier: Apache-2.0
// The job of the live tests: healthy steps until a file appears, and then what the mode says.
//
//   staged_job MODE [GATE]   GATE is the file; without one a single step is made
//   exit7   every rank ends with 7              skip    rank 1 skips a barrier
//   late    as exit7, but until GATE appears rank 1 comes 0.2 s late to each of many barriers
//   loop    rank 1 computes for ever            read    rank 1 reads what nobody writes
//   sends   ranks 0 and 1 send each other more than is buffered
//   thread  ranks 0 and 1 receive from each other, until GATE appears: then a thread of rank 0
//           sends. MPI_THREAD_MULTIPLE; ends with 0
//   thread-then-loop   the same, and barriers for ever after that
//   segv    rank 1 is ended by SIGSEGV      kill    rank 1 is ended by SIGKILL
//   exit5   rank 1 ends with 5, without MPI_Finalize
//   nan     as exit7; at first rank 1 passes NaN to a reduction
//   where   as exit7; rank 0 prints which librollcall.so it has and what its parent is
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The safety net: no rank outlives this, whatever becomes of the test that started it.
enum { kMostSeconds = 120, kExitCode = 7, kStepMicroseconds = 1000, kLateMicroseconds = 200000 };

static void Say(const char* line) {
  printf("%s\n", line);
  fflush(stdout);
}

static void StepUntil(const char* gate, int rank, int late) {
  int open = 0;
  for (int step = 0; !open; ++step) {
    if (rank == 0) open = gate == NULL || access(gate, F_OK) == 0;
    MPI_Bcast(&open, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0 && step == 0) Say("stepping");
    if (late && rank == 1) usleep(kLateMicroseconds);
    if (late) MPI_Barrier(MPI_COMM_WORLD);
    if (!open) usleep(kStepMicroseconds);
  }
}

static void ReduceAfterBarrier(int skips) {
  int one = 1;
  int sum = 0;
  if (!skips) MPI_Barrier(MPI_COMM_WORLD);                         // @barrier
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // @reduction
}

__attribute__((noinline)) static void ComputeForEver(volatile double* value) {
  while (*value > 0) *value = *value * 0.5 + 1;  // @loop
}

__attribute__((noinline)) static long ReadNothing(int fd) {
  char byte;
  return read(fd, &byte, 1);  // @read
}

static void ReduceNan(int rank) {
  const double mine = rank == 1 ? strtod("nan", NULL) : rank;
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @nan
}

static void PrintWhere(void) {
  char line[2 * PATH_MAX];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
    char* path = strchr(line, '/');
    if (path == NULL || strstr(path, "/librollcall.so") == NULL) continue;
    printf("library %s", path);
    break;
  }
  if (maps != NULL) fclose(maps);
  char name[64];
  snprintf(name, sizeof(name), "/proc/%d/exe", (int)getppid());
  const ssize_t length = readlink(name, line, sizeof(line) - 1);
  printf("parent %.*s\n", (int)(length > 0 ? length : 0), line);
  fflush(stdout);
}

static void SendFaceToFace(int rank) {
  enum { kLarge = 1 << 20 };
  static char buffer[2][kLarge];
  if (rank > 1) return;
  MPI_Send(buffer[0], kLarge, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);  // @send
  MPI_Recv(buffer[1], kLarge, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void* SendAtGate(void* gate) {
  int one = 1;
  while (access((const char*)gate, F_OK) != 0) usleep(10 * kStepMicroseconds);
  MPI_Send(&one, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  return NULL;
}

static int ReceiveFaceToFace(int rank, const char* gate) {
  int value = 0;
  pthread_t thread;
  if (rank == 0 && pthread_create(&thread, NULL, SendAtGate, (void*)gate) != 0) return 1;
  if (rank < 2) {
    MPI_Recv(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @receive
  }
  if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  if (rank == 0) pthread_join(thread, NULL);
  return 0;
}

static int RunThreads(int argc, char** argv, const char* mode, const char* gate) {
  int level = 0;
  int rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (level != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 1);
  const int code = ReceiveFaceToFace(rank, gate);
  while (strcmp(mode, "thread-then-loop") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(kStepMicroseconds);
  }
  if (rank == 0) Say("done");
  MPI_Finalize();
  return code;
}

int main(int argc, char** argv) {
  alarm(kMostSeconds);
  const char* mode = argc > 1 ? argv[1] : "exit7";
  if (strncmp(mode, "thread", strlen("thread")) == 0) {
    return RunThreads(argc, argv, mode, argc > 2 ? argv[2] : "");
  }
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(mode, "nan") == 0) ReduceNan(rank);
  StepUntil(argc > 2 ? argv[2] : NULL, rank, strcmp(mode, "late") == 0);
  if (rank == 1 && strcmp(mode, "loop") == 0) {
    volatile double value = 1;
    ComputeForEver(&value);
  }
  int ends[2];
  if (rank == 1 && strcmp(mode, "read") == 0 && pipe(ends) == 0) ReadNothing(ends[0]);
  if (rank == 1 && strcmp(mode, "segv") == 0) raise(SIGSEGV);
  if (rank == 1 && strcmp(mode, "kill") == 0) raise(SIGKILL);
  if (rank == 1 && strcmp(mode, "exit5") == 0) exit(5);
  if (rank == 0 && strcmp(mode, "where") == 0) PrintWhere();
  if (strcmp(mode, "sends") == 0) SendFaceToFace(rank);
  ReduceAfterBarrier(rank == 1 && strcmp(mode, "skip") == 0);
  if (rank == 0) Say("done");
  MPI_Finalize();
  return kExitCode;
}
