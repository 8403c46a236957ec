/* What an NCCL call costs, for tests/bench/nccl, which starts it with and without librollcall.so.

   nccl_cost OPERATION DEPTH BATCHES CALLS
     OPERATION  enqueue: an all_reduce; group: the same in a group of its own; sites: from 16
   functions in turn, so that no stack is like the one before
     DEPTH      frames between main and the loop
   Prints nanoseconds per call of each batch, one number a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
  char bytes[128];
} Id;
int ncclCommInitRank(void** comm, int nranks, Id id, int rank);
int ncclAllReduce(const void* send, void* recv, size_t count, int type, int op, void* comm,
                  void* stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);

static void* comm;
static void* const kStream = (void*)0x1000;
static int group, sites, batches, calls;
static double* result;

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static float data[16];
#define ENQUEUE() ncclAllReduce(data, data, 16, 7, 0, comm, kStream)
#define SITE(n) \
  __attribute__((noinline)) static int Site##n(void) { return ENQUEUE() + n; }
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
  } else if (group) {
    for (int i = 0; i < count; ++i) {
      ncclGroupStart();
      ENQUEUE();
      ncclGroupEnd();
    }
  } else {
    for (int i = 0; i < count; ++i) ENQUEUE();
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

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  Id id;
  memset(&id, 7, sizeof(id));
  ncclCommInitRank(&comm, 1, id, 0);
  group = strcmp(argv[1], "group") == 0;
  sites = strcmp(argv[1], "sites") == 0;
  batches = atoi(argv[3]);
  calls = atoi(argv[4]);
  result = calloc((size_t)batches, sizeof(*result));
  if (result == NULL) return 2;
  AtDepth(atoi(argv[2]));
  for (int i = 0; i < batches; ++i) printf("%.2f\n", result[i]);
  return 0;
}
