/* SPDX-License-Identifier: Apache-2.0 */
/* What an NCCL call costs, for tests/bench/nccl, which starts it with and without librollcall.so.

   nccl_cost OPERATION DEPTH BATCHES CALLS
     OPERATION  enqueue: an all_reduce; group: the same in a group of its own; sites: from 16
   functions in turn, so that no stack is like the one before; plugin: an all_reduce as NCCL's
   profiler events tell it to a plugin, which librollcall.so is where it is loaded; calibration:
   no call (call_cost.h)
     DEPTH      frames between main and the loop
   Prints nanoseconds per call of each batch, one number a line. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* NCCL's profiler interface, version 5, as far as it is used here: src/include/plugin/profiler/
   profiler_v5.h of NCCL. What one ungrouped collective makes of events: a group's begin, the call,
   the group's end. */
enum { kGroupApi = 1 << 8, kCollApi = 1 << 9, kGroupEndStarts = 24 };
typedef struct {
  uint64_t type;
  void* parent;
  int rank;
  union {
    struct {
      bool captured;
      int depth;
    } group;
    struct {
      const char* function;
      size_t count;
      const char* datatype;
      int root;
      void* stream;
      bool captured;
    } call;
    char others[64];
  };
} Event;
typedef struct {
  const char* name;
  int (*init)(void** context, uint64_t comm_hash, int* mask, const char* comm_name, int nodes,
              int nranks, int rank, void* logger);
  int (*start)(void* context, void** handle, Event* event);
  int (*stop)(void* handle);
  int (*record_state)(void* handle, int state, void* arguments);
} Plugin;

static int StartNothing(void* context, void** handle, Event* event) {
  (void)context, (void)event;
  *handle = NULL;
  return 0;
}
static int StopNothing(void* handle) {
  (void)handle;
  return 0;
}
static int RecordNothing(void* handle, int state, void* arguments) {
  (void)handle, (void)state, (void)arguments;
  return 0;
}
static Plugin plugin = {"none", NULL, StartNothing, StopNothing, RecordNothing};
static void* context;

static void Callbacks(int calls) {
  for (int i = 0; i < calls; ++i) {
    void *group, *call;
    Event begin = {.type = kGroupApi, .group = {false, 1}};
    plugin.start(context, &group, &begin);
    Event event = {.type = kCollApi,
                   .parent = group,
                   .call = {"AllReduce", 16, "ncclFloat32", 0, kStream, false}};
    plugin.start(context, &call, &event);
    plugin.stop(call);
    plugin.record_state(group, kGroupEndStarts, NULL);
    plugin.stop(group);
  }
}

static int MeasurePlugin(char** argv) {
  const Plugin* loaded = dlsym(RTLD_DEFAULT, "ncclProfiler_v5");
  if (loaded != NULL) {
    plugin = *loaded;
    int mask = 0;
    plugin.init(&context, 7, &mask, "", 1, 1, 0, NULL);
    if (context == NULL || (mask & kCollApi) == 0) return 2; /* it wants no events */
  }
  if (!MeasureCalls(Callbacks, atoi(argv[2]), atoi(argv[3]), atoi(argv[4]))) return 2;
  PrintCosts();
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  if (strcmp(argv[1], "plugin") == 0) return MeasurePlugin(argv);
  Id id;
  memset(&id, 7, sizeof(id));
  ncclCommInitRank(&comm, 1, id, 0);
  const Batch batch = strcmp(argv[1], "group") == 0         ? Groups
                      : strcmp(argv[1], "sites") == 0       ? Sites
                      : strcmp(argv[1], "calibration") == 0 ? Calibration
                                                            : Enqueues;
  if (!MeasureCalls(batch, atoi(argv[2]), atoi(argv[3]), atoi(argv[4]))) return 2;
  PrintCosts();
  return 0;
}
