/* SPDX-License-Identifier: Apache-2.0 */
/* What a collective costs, for tests/bench/run, which starts it with and without librollcall.so.

   collective_cost OPERATION DEPTH BATCHES CALLS
     OPERATION  barrier-self, allreduce-self, sendrecv-self, barrier-world or allreduce-world;
   barrier-sites calls the barrier on MPI_COMM_SELF from 16 functions in turn, so that no stack is
   like the one before; calibration makes no call (call_cost.h)
     DEPTH      frames between main and the loop
   Prints nanoseconds per call of each batch, one number a line, then "rss KiB anonymous file
   shared". */
#define _GNU_SOURCE
#include <mpi.h>
#include <string.h>

static MPI_Comm comm;
#define CALL_ONCE MPI_Barrier(comm)
#include "call_cost.h"

static void Sites(int calls) {
  for (int i = 0; i < calls; ++i) kSites[i % 16]();
}
static void Reductions(int calls) {
  double in = 1, out = 0; /* 8 bytes */
  for (int i = 0; i < calls; ++i) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm);
}
static void Messages(int calls) { /* each call sends one and receives it */
  double out = 1, in = 0;
  for (int i = 0; i < calls; ++i) {
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, 0, 1, &in, 1, MPI_DOUBLE, 0, 1, comm, MPI_STATUS_IGNORE);
  }
}
static void Barriers(int calls) {
  for (int i = 0; i < calls; ++i) CALL_ONCE;
}

static void PrintMemory(void) {
  FILE* status = fopen("/proc/self/status", "r");
  if (status == NULL) return;
  char line[256];
  long anonymous = 0, file = 0, shared = 0;
  while (fgets(line, sizeof(line), status) != NULL) {
    sscanf(line, "RssAnon: %ld", &anonymous);
    sscanf(line, "RssFile: %ld", &file);
    sscanf(line, "RssShmem: %ld", &shared);
  }
  fclose(status);
  printf("rss %ld %ld %ld\n", anonymous, file, shared);
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  comm = strstr(argv[1], "-world") != NULL ? MPI_COMM_WORLD : MPI_COMM_SELF;
  const Batch batch = strncmp(argv[1], "allreduce", 9) == 0  ? Reductions
                      : strncmp(argv[1], "sendrecv", 8) == 0 ? Messages
                      : strstr(argv[1], "-sites") != NULL    ? Sites
                      : strcmp(argv[1], "calibration") == 0  ? Calibration
                                                             : Barriers;
  if (!MeasureCalls(batch, atoi(argv[2]), atoi(argv[3]), atoi(argv[4]))) return 2;
  if (rank == 0) {
    PrintCosts();
    PrintMemory();
  }
  MPI_Finalize();
  return 0;
}
