// Completion marks: after each launch, the device writes a number into the ring (ring::Mark). The
// device's progress is then visible from outside, even if the host never queries it, and after the
// host process has died.
//
// Enabled only by ROLLCALL_GPU=marks, because marks are enqueued on the application's streams. Each
// of these rules exists because a job hung or failed without it:
//   - The pages are registered once, when the first communicator has been created and nothing is
//     enqueued on its streams: registration may wait for the device.
//   - A mark is enqueued after the outermost ncclGroupEnd or after an ungrouped call that has
//     enqueued, never on the legacy or a per-thread default stream, never on a stream that is being
//     captured, and only in the context that registered the pages.
//   - At most kMarksPerStream marks are outstanding on a stream: a full stream blocks the host.
//   - No marks in a process that drives several devices, or that has a non-blocking communicator,
//     whose calls return before anything is enqueued.
//   - The first error switches marks off permanently.
//
// Thread safety: any thread. No lock: if another thread is busy, the mark is omitted.
#ifndef ROLLCALL_SHIM_NCCL_MARKS_H_
#define ROLLCALL_SHIM_NCCL_MARKS_H_

#include <cstdint>

namespace rollcall::shim::nccl {

inline constexpr uint32_t kMarkCells = 128;  // cells in the ring's kMarks section, if enabled
inline constexpr uint32_t kMarksPerStream = 32;

// Looks for the driver and prepares marks. Called when a communicator was created.
void PrepareDevice();

// Enqueues a mark. `launch` was enqueued on the stream of entry `slot` of GpuProgress.
void Launched(uint32_t slot, uint64_t launch);

// Invalidates the marks of this member, whose communicator is about to be aborted: its operations
// leave the device without completing, so later marks on their streams prove nothing.
void ClearMarks(uint32_t member);

// No further marks in this process. Existing marks stay valid.
void StopMarks(const char* why);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_MARKS_H_
