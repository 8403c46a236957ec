// SPDX-License-Identifier: Apache-2.0
// Completion marks: after each launch, the device writes a number into the ring (ring::Mark). The
// device's progress is then visible from outside, even if the host never queries the device, and
// after the host process has died.
//
// Enabled only by ROLLCALL_GPU=marks, because marks are enqueued on the application's streams. Each
// of these rules exists because a job hung or failed without it:
//   - The pages are registered once, when the first communicator was created and before anything is
//     enqueued on its streams, because registration may wait for the device.
//   - A mark is enqueued after the outermost ncclGroupEnd, or after an ungrouped call that has
//     enqueued an operation. It is never enqueued on the legacy stream, on a per-thread default
//     stream, or on a stream that is being captured, and only in the context that registered the
//     pages.
//   - At most kMarksPerStream marks are outstanding on a stream, because a full stream blocks the
//     host.
//   - There are no marks in a process that drives several devices, nor in a process that has a
//     non-blocking communicator, whose calls return before anything is enqueued.
//   - The first error switches marks off permanently.
//
// Thread safety: any thread. No lock: if another thread is making a mark, the mark is omitted.
#ifndef ROLLCALL_SHIM_NCCL_MARKS_H_
#define ROLLCALL_SHIM_NCCL_MARKS_H_

#include <cstdint>

namespace rollcall::shim::nccl {

inline constexpr uint32_t kMarkCells = 128;  // cells in the ring's kMarks section, if enabled
inline constexpr uint32_t kMarksPerStream = 32;

// Looks for the driver and prepares marks. Called when a communicator was created.
void PrepareDevice();

// `launch` was enqueued on the stream of entry `slot` of GpuProgress: notes this, and enqueues a
// mark after it.
void Launched(uint32_t slot, uint64_t launch);

// Invalidates the outstanding marks of this member. Call it before its communicator is aborted: the
// operations then leave the device without completing, so marks that are written later prove
// nothing.
void ClearMarks(uint32_t member);

// No further marks in this process. Existing marks stay valid.
void StopMarks(const char* why);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_MARKS_H_
