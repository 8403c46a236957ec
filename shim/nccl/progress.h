// How far devices came with what was enqueued, as far as the host gets to know: ring::GpuProgress.
//
// Here nothing is put on a stream and nothing is asked of CUDA: a host that waited for a stream, an
// event or the device, or asked and heard that it is complete, knows that all that was launched
// before is. That can make no job hang. What it costs: a host that never waits knows nothing
// (kNone), and says so. marks.h has the other way.
//
// Thread safety: any thread, no lock but for a member's first use of a stream. No allocation.
#ifndef ROLLCALL_SHIM_NCCL_PROGRESS_H_
#define ROLLCALL_SHIM_NCCL_PROGRESS_H_

#include <cstdint>

#include "proto/device_streams.h"
#include "shim/comms.h"
#include "shim/thread_log.h"

namespace rollcall::shim::nccl {

inline constexpr uint32_t kNoSlot = 0xffffffff;

// How the ring names a stream that the thread of this log has by `handle`.
inline uint64_t StreamNumber(const ThreadLog& log, uint64_t handle) {
  if (__builtin_expect(handle != ring::kPerThreadStream, 1)) return handle;
  return ring::OwnStream(log.index, log.entry->incarnation);
}

// A number for what goes to the devices next. Rises; from 1.
uint64_t NextLaunch();
uint64_t LastLaunch();

// The entry of this member and stream; kNoSlot if the table is full (counted).
uint32_t SlotOf(Comm* comm, uint64_t stream);
// `slot` must not be kNoSlot.
const ring::GpuProgress& ProgressOf(uint32_t slot);
// False if a later launch has been there already.
bool MarkEnqueued(uint32_t slot, uint64_t launch);
// Whether the device itself tells of the launch that was enqueued last.
void DeviceTells(uint32_t slot, bool tells);
void RaiseCompleted(uint32_t slot, uint64_t launch);
// The device is known to have come so far, as a host that waited would know it.
void KnowCompleted(uint32_t slot, uint64_t launch);
// Is known to be on the device now, and not complete; 0: nothing is.
void SetRunning(uint32_t slot, uint64_t launch);
// All that this member has enqueued is complete.
void CompleteAll(uint32_t member);

// Was anything ever enqueued?
bool AnythingEnqueued();
// Is anything enqueued that is not known to be complete? Whatever a CUDA graph holds may be.
bool AnythingOutstanding();
// Everything that was launched up to `launch` is complete: on this stream, or on all.
void MarkStreamComplete(uint64_t stream, uint64_t launch);
void MarkAllComplete(uint64_t launch);

// What had been launched when an event was recorded, and where.
struct EventMark {
  uint64_t stream = 0;
  uint64_t launch = 0;  // 0: unknown event
};
void RememberEvent(uint64_t event, const EventMark& mark);
EventMark FindEvent(uint64_t event);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_PROGRESS_H_
