// SPDX-License-Identifier: Apache-2.0
// The progress of devices with their enqueued work, as far as the host knows it: ring::GpuProgress.
//
// This code enqueues nothing and queries nothing of CUDA, so it cannot make a job hang. It observes
// the application. When the application has waited for a stream, an event or the device, or has
// queried it and it was complete, everything that was launched on it before is complete. The
// drawback: if the host never waits, the progress stays unknown (kNone). marks.h is the
// alternative.
//
// Thread safety: any thread; no lock except for a member's first use of a stream. No allocation.
#ifndef ROLLCALL_SHIM_NCCL_PROGRESS_H_
#define ROLLCALL_SHIM_NCCL_PROGRESS_H_

#include <cstdint>

#include "proto/device_streams.h"
#include "shim/comms.h"
#include "shim/thread_log.h"

namespace rollcall::shim::nccl {

inline constexpr uint32_t kNoSlot = 0xffffffff;

// The number in the ring of the stream that the thread of this log denotes by `handle`.
inline uint64_t StreamNumber(const ThreadLog& log, uint64_t handle) {
  if (__builtin_expect(handle != ring::kPerThreadStream, 1)) return handle;
  return ring::OwnStream(log.index, log.entry->incarnation);
}

// A number for the next launch. Ascending, from 1.
uint64_t NextLaunch();
uint64_t LastLaunch();

// The entry of this member and stream; kNoSlot if the table is full (counted).
uint32_t SlotOf(Comm* comm, uint64_t stream);
// `slot` must not be kNoSlot.
const ring::GpuProgress& ProgressOf(uint32_t slot);
// False if a later launch was already marked as enqueued.
bool MarkEnqueued(uint32_t slot, uint64_t launch);
// Sets whether the device itself will report completion of the launch that was enqueued last.
void SetDeviceReports(uint32_t slot, bool reports);
void RaiseCompleted(uint32_t slot, uint64_t launch);
// The device is known to have completed `launch`. The effect is that of a host's wait for it.
void MarkCompleted(uint32_t slot, uint64_t launch);
// Sets the launch that is known to run on the device now; 0: none.
void SetRunning(uint32_t slot, uint64_t launch);
// All that this member has enqueued is complete.
void CompleteAll(uint32_t member);

// True if anything was ever enqueued.
bool AnythingEnqueued();
// True if an enqueued launch is not known to be complete, or if operations were captured into a
// CUDA graph, because a graph may be running at any time.
bool AnythingOutstanding();
// Everything launched up to `launch` is complete, on this stream or on all streams.
void MarkStreamComplete(uint64_t stream, uint64_t launch);
void MarkAllComplete(uint64_t launch);

// The last launch before a CUDA event was recorded, and the stream of the event.
struct EventMark {
  uint64_t stream = 0;
  uint64_t launch = 0;  // 0: unknown event
};
void StoreEvent(uint64_t event, const EventMark& mark);
EventMark FindEvent(uint64_t event);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_PROGRESS_H_
