/* What an NCCL call costs, for tests/bench/nccl, which starts it with and without librollcall.so.

   nccl_cost OPERATION DEPTH BATCHES CALLS
     OPERATION  enqueue: an all_reduce; group: the same in a group of its own; sites: from 16
   functions in turn, so that no stack is like the one before
     DEPTH      frames between main and the loop
   Prints nanoseconds per call of each batch, one number a line. */
#include <stddef.h>
#include <string.h>

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
static float data[16];
#define CALL_ONCE ncclAllReduce(data, data, 16, 7, 0, comm, kStream)
#include "call_cost.h"

static void Sites(int calls) {
  for (int i = 0; i < calls; ++i) kSites[i % 16]();
}
static void Groups(int calls) {
  for (int i = 0; i < calls; ++i) {
    ncclGroupStart();
    CALL_ONCE;
    ncclGroupEnd();
  }
}
static void Enqueues(int calls) {
  for (int i = 0; i < calls; ++i) CALL_ONCE;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  Id id;
  memset(&id, 7, sizeof(id));
  ncclCommInitRank(&comm, 1, id, 0);
  const Batch batch = strcmp(argv[1], "group") == 0   ? Groups
                      : strcmp(argv[1], "sites") == 0 ? Sites
                                                      : Enqueues;
  if (!MeasureCalls(batch, atoi(argv[2]), atoi(argv[3]), atoi(argv[4]))) return 2;
  PrintCosts();
  return 0;
}
