// NCCL's profiler events as records: what a statically linked or hidden NCCL, whose functions
// nobody can wrap, says of itself. profiler.cc is how it says it.
//
// Everything here is called by NCCL in the middle of its work: nothing blocks, allocates or fails.
// An NCCL whose functions are wrapped is not recorded a second time: Open() gives no context then.
//
// Handles, which NCCL keeps and gives back, are numbers and not pointers; 0: nothing to be told of.
// Thread safety: any thread.
#ifndef ROLLCALL_SHIM_NCCL_PROFILER_EVENTS_H_
#define ROLLCALL_SHIM_NCCL_PROFILER_EVENTS_H_

#include <cstdint>

#include "proto/operations.h"

namespace rollcall::shim::nccl::profiler {

// The function that NCCL called: ROLLCALL_CALLER_FRAME() and the return address in it.
struct Caller {
  const void* frame;
  const void* address;
};

struct Identity {
  uint64_t hash = 0;           // equal on all members; 0: not known yet
  const char* name = nullptr;  // the user's; may be null
  int rank = -1;
  int size = 0;  // 0: unknown, up to version 3
};

struct Called {
  Operation operation = Operation::kNone;
  uint64_t count = 0;
  int datatype = -1;  // ncclDataType_t; -1: unknown
  int root_or_peer = 0;
  uint64_t stream = 0;
  bool captured = false;
};

struct Context;  // one communicator of one rank

// `version` of the interface. Null: nothing of this communicator is to be recorded.
Context* Open(const Caller& caller, int version, const Identity& identity);
// NCCL frees the communicator. Why is not known: what was enqueued on it counts as complete, since
// ncclCommDestroy waits for it, so that an abort accuses nobody.
void Close(Context* context);
// Whether devices are to tell when they start and complete (ROLLCALL_GPU=marks).
bool WantsKernels();

// --- since version 5: the calls, in the caller's thread ------------------------------------------

// The first operation of an outermost group; one without a group is a group of its own (`alone`).
uint64_t BeginGroup(const Context* context, const Caller& caller, bool alone);
// Its outermost end, before anything is launched. May be said twice.
void EndGroup(uint64_t group, const Caller& caller);
uint64_t Collective(Context* context, const Caller& caller, const Called& called);
// Who the peer is, is known when it is launched.
uint64_t Message(Context* context, const Caller& caller, const Called& called);
void MessageLaunched(Context* context, const Caller& caller, uint64_t message,
                     const Called& called);
// A collective becomes this many channels' work.
uint64_t CollectiveLaunched(uint64_t collective, uint32_t channels);

// --- up to version 4: what goes to the device, without its stream --------------------------------

uint64_t BeginKernel();
// `channels` 0: unknown.
uint64_t Launched(Context* context, const Caller& caller, uint64_t kernel, const Identity& identity,
                  const Called& called, uint32_t channels);

// --- on the device -------------------------------------------------------------------------------

// A channel's work on a collective has begun. The handle is for its end.
uint64_t ChannelStarted(uint64_t collective);

// The event of this handle is over.
void Stopped(uint64_t handle, const Caller& caller);

}  // namespace rollcall::shim::nccl::profiler

#endif  // ROLLCALL_SHIM_NCCL_PROFILER_EVENTS_H_
