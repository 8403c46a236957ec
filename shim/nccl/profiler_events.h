// SPDX-License-Identifier: Apache-2.0
// Records made from NCCL's profiler events, for a statically linked or hidden NCCL, whose functions
// cannot be wrapped. profiler.cc is the plugin that receives the events.
//
// NCCL calls these functions in the middle of its work: no function blocks, allocates or fails. An
// NCCL whose functions are wrapped is not recorded a second time: Open() returns no context for it.
//
// Handles are numbers, not pointers. NCCL stores them and passes them back. Handle 0 means that no
// further events of this object are wanted. Thread safety: any thread.
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
// NCCL frees the communicator, by destroy or by abort. It does not report which. All operations
// that were enqueued on the communicator count as complete, because ncclCommDestroy waits for them.
// An abort therefore leads to no finding.
void Close(Context* context);
// True if devices are to report when work starts and completes (ROLLCALL_GPU=marks).
bool WantsKernels();

// --- since version 5: the calls, in the caller's thread ------------------------------------------

// An outermost group begins with its first operation. NCCL also reports a group for an operation
// outside a group; `alone` is true for it.
uint64_t BeginGroup(const Context* context, const Caller& caller, bool alone);
// The outermost end of the group is reached; nothing is launched yet. May be called twice.
void EndGroup(uint64_t group, const Caller& caller);
uint64_t Collective(Context* context, const Caller& caller, const Called& called);
// The peer is unknown here; MessageLaunched provides it.
uint64_t Message(Context* context, const Caller& caller, const Called& called);
void MessageLaunched(Context* context, const Caller& caller, uint64_t message,
                     const Called& called);
// The collective is launched on this many channels.
uint64_t CollectiveLaunched(uint64_t collective, uint32_t channels);

// --- up to version 4: operations that go to the device, without their stream ---------------------

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
