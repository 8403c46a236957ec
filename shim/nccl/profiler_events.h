// Records made from NCCL's profiler events, for a statically linked or hidden NCCL, whose functions
// cannot be wrapped. profiler.cc is the plugin that receives the events.
//
// NCCL calls all of this in the middle of its work: nothing blocks, allocates or fails. An NCCL
// whose functions are wrapped is not recorded a second time: Open() then returns no context.
//
// Handles, which NCCL stores and passes back, are numbers and not pointers; 0: no further events of
// it are wanted. Thread safety: any thread.
#ifndef ROLLCALL_SHIM_NCCL_PROFILER_EVENTS_H_
#define ROLLCALL_SHIM_NCCL_PROFILER_EVENTS_H_

#include <cstdint>

#include "proto/operations.h"
#include "shim/stack/arch.h"

namespace rollcall::shim::nccl::profiler {

// The plugin function that NCCL called: its ROLLCALL_CALLER_FRAME() and return address.
struct Caller {
  CallerFrame frame;
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

// `version` is the interface's. Returns null if this communicator is not to be recorded.
Context* Open(const Caller& caller, int version, const Identity& identity);
// NCCL frees the communicator, by destroy or abort; which one is unknown. All operations enqueued
// on it count as complete, as ncclCommDestroy waits for them; an abort then leads to no finding.
void Close(Context* context);
// True if devices are to report when work starts and completes (ROLLCALL_GPU=marks).
bool WantsKernels();

// --- since version 5: the calls, in the caller's thread ------------------------------------------

// An outermost group begins with its first operation. An ungrouped operation is a group of its own
// (`alone`).
uint64_t BeginGroup(const Context* context, const Caller& caller, bool alone);
// The outermost end of the group, before anything is launched. May be called twice.
void EndGroup(uint64_t group, const Caller& caller);
uint64_t Collective(Context* context, const Caller& caller, const Called& called);
// The peer is unknown here; MessageLaunched provides it.
uint64_t Message(Context* context, const Caller& caller, const Called& called);
void MessageLaunched(Context* context, const Caller& caller, uint64_t message,
                     const Called& called);
// The collective is launched on this many channels.
uint64_t CollectiveLaunched(uint64_t collective, uint32_t channels);

// --- up to version 4: what goes to the device, without its stream --------------------------------

uint64_t BeginKernel();
// `channels` 0: unknown.
uint64_t Launched(Context* context, const Caller& caller, uint64_t kernel, const Identity& identity,
                  const Called& called, uint32_t channels);

// --- on the device -------------------------------------------------------------------------------

// A channel's work on a collective has begun. Returns the handle for Stopped().
uint64_t ChannelStarted(uint64_t collective);

// NCCL reports the end of the event with this handle.
void Stopped(uint64_t handle, const Caller& caller);

}  // namespace rollcall::shim::nccl::profiler

#endif  // ROLLCALL_SHIM_NCCL_PROFILER_EVENTS_H_
