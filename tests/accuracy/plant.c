// SPDX-License-Identifier: Apache-2.0
// A fault for a program that has none: preloaded in front of everything else, it makes one rank
// leave out a collective, make one more, end, or stop, at one of its calls. Without PLANT it only
// counts.
//
//   PLANT=RANK:NTH:HOW      HOW is skip, extra, exit or stop; NTH counts from 1
//   PLANT_COUNT=PREFIX      each rank writes how many calls it made to PREFIX.RANK
//
// Calls on communicators of less than three are passed on uncounted: with two, nobody can say which
// of them was right. So are those on intercommunicators.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long calls;

static int Rank(void) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == NULL) rank = getenv("PMI_RANK");
  return rank == NULL ? -1 : atoi(rank);
}

static int Counts(MPI_Comm comm) {
  int inter = 1;
  int size = 0;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter) return 0;
  return PMPI_Comm_size(comm, &size) == MPI_SUCCESS && size >= 3;
}

static void Stop(void) {
  for (;;) pause();
}

// True if the call is to be left out.
static int Plant(MPI_Comm comm) {
  int rank = -1;
  long nth = 0;
  char how[16] = "";
  if (!Counts(comm)) return 0;
  ++calls;
  const char* plan = getenv("PLANT");
  if (plan == NULL || sscanf(plan, "%d:%ld:%15s", &rank, &nth, how) != 3) return 0;
  if (rank != Rank() || nth != calls) return 0;
  if (strcmp(how, "exit") == 0) _exit(3);
  if (strcmp(how, "stop") == 0) Stop();
  if (strcmp(how, "extra") == 0) MPI_Barrier(comm);
  return strcmp(how, "skip") == 0;
}

__attribute__((destructor)) static void WriteCount(void) {
  const char* prefix = getenv("PLANT_COUNT");
  if (prefix == NULL || Rank() < 0 || calls == 0) return;
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", prefix, Rank());
  FILE* file = fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%ld\n", calls);
  fclose(file);
}

// The next MPI_X, which may be another tool's.
#define FORWARD(name, parameters, arguments)                             \
  int name parameters {                                                  \
    static int(*next) parameters;                                        \
    if (next == NULL) next = (int(*) parameters)dlsym(RTLD_NEXT, #name); \
    return Plant(comm) ? MPI_SUCCESS : next arguments;                   \
  }

int MPI_Barrier(MPI_Comm comm) {
  static int (*next)(MPI_Comm);
  static int planting;
  if (next == NULL) next = (int (*)(MPI_Comm))dlsym(RTLD_NEXT, "MPI_Barrier");
  if (planting) return next(comm);  // the one that is planted
  planting = 1;
  const int left_out = Plant(comm);
  planting = 0;
  return left_out ? MPI_SUCCESS : next(comm);
}
FORWARD(MPI_Bcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm comm), (b, n, t, root, comm))
FORWARD(MPI_Reduce,
        (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm),
        (s, r, n, t, op, root, comm))
FORWARD(MPI_Allreduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),
        (s, r, n, t, op, comm))
FORWARD(MPI_Scan, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),
        (s, r, n, t, op, comm))
FORWARD(MPI_Gather,
        (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root,
         MPI_Comm comm),
        (s, n, t, r, m, u, root, comm))
FORWARD(MPI_Scatter,
        (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root,
         MPI_Comm comm),
        (s, n, t, r, m, u, root, comm))
FORWARD(MPI_Allgather,
        (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm comm),
        (s, n, t, r, m, u, comm))
FORWARD(MPI_Alltoall,
        (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm comm),
        (s, n, t, r, m, u, comm))
