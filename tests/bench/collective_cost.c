/* What a collective costs, for tests/bench/run, which starts it with and without librollcall.so.

   collective_cost OPERATION DEPTH BATCHES CALLS
     OPERATION  barrier-self, allreduce-self, barrier-world or allreduce-world; barrier-sites calls
   the barrier on MPI_COMM_SELF from 16 functions in turn, so that no stack is like the one before
     DEPTH      frames between main and the loop
   Prints nanoseconds per call of each batch, one number a line, then "rss KiB anonymous file
   shared". */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static MPI_Comm comm;
static int reduce, sites, batches, calls;
static double* result;

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

#define SITE(n) \
  __attribute__((noinline)) static int Site##n(void) { return MPI_Barrier(comm) + n; }
// clang-format off
SITE(0) SITE(1) SITE(2) SITE(3) SITE(4) SITE(5) SITE(6) SITE(7)
SITE(8) SITE(9) SITE(10) SITE(11) SITE(12) SITE(13) SITE(14) SITE(15)
    // clang-format on
    static int (*const kSites[])(void) = {Site0,  Site1,  Site2,  Site3, Site4,  Site5,
                                          Site6,  Site7,  Site8,  Site9, Site10, Site11,
                                          Site12, Site13, Site14, Site15};

static void Batch(int count) {
  if (sites) {
    for (int i = 0; i < count; ++i) kSites[i % 16]();
  } else if (reduce) {
    double in = 1, out = 0; /* 8 bytes */
    for (int i = 0; i < count; ++i) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm);
  } else {
    for (int i = 0; i < count; ++i) MPI_Barrier(comm);
  }
}

/* Short batches, so that one which nothing interrupted is among them. */
static void Measure(void) {
  Batch(calls); /* first sights */
  for (int i = 0; i < batches; ++i) {
    const double start = Now();
    Batch(calls);
    result[i] = (Now() - start) / calls;
  }
}

static volatile int keep_frame;
__attribute__((noinline)) static void AtDepth(int depth) {
  if (depth == 0) {
    Measure();
  } else {
    AtDepth(depth - 1);
  }
  keep_frame = depth; /* no tail call */
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
  reduce = strncmp(argv[1], "allreduce", 9) == 0;
  sites = strstr(argv[1], "-sites") != NULL;
  comm = strstr(argv[1], "-world") != NULL ? MPI_COMM_WORLD : MPI_COMM_SELF;
  batches = atoi(argv[3]);
  calls = atoi(argv[4]);
  result = calloc((size_t)batches, sizeof(*result));
  if (result == NULL) return 2;
  AtDepth(atoi(argv[2]));
  if (rank == 0) {
    for (int i = 0; i < batches; ++i) printf("%.2f\n", result[i]);
    PrintMemory();
  }
  MPI_Finalize();
  return 0;
}
