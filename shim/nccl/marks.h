// Completion marks: behind each launch the device is told to write a number into the ring
// (ring::Mark), so that how far it came is seen from outside, even when the host never asks and
// after its death.
//
// Only where they were asked for (ROLLCALL_GPU=marks): they put something on the application's
// streams. The rules, each of which a job has hung or failed without:
//   - The pages are registered once, when the first communicator has been made and nothing is on a
//     stream of it: registration may wait for the device.
//   - A mark stands behind the outermost ncclGroupEnd or an ungrouped call that has enqueued, never
//     on the legacy or a per-thread default stream, never on one that is being captured, only in
//     the context that registered.
//   - At most kMarksPerStream are outstanding on a stream: one that is full blocks the host.
//   - None in a process that drives several devices, or that has a non-blocking communicator, whose
//     calls return before anything is enqueued.
//   - Off for good at the first error.
//
// Thread safety: any thread. No lock: a mark that another thread is in the way of is not made.
#ifndef ROLLCALL_SHIM_NCCL_MARKS_H_
#define ROLLCALL_SHIM_NCCL_MARKS_H_

#include <cstdint>

namespace rollcall::shim::nccl {

inline constexpr uint32_t kMarkCells = 128;  // of the ring's section, where marks were asked for
inline constexpr uint32_t kMarksPerStream = 32;

// A communicator was made: looks for the driver and prepares marks.
void PrepareDevice();

// `launch` was enqueued on the stream of this entry of GpuProgress.
void Launched(uint32_t slot, uint64_t launch);

// This member's communicator is about to be aborted: its operations leave the device without
// completing, and marks behind them mean nothing.
void ForgetMarks(uint32_t member);

// No further marks in this process. Existing marks stay valid.
void StopMarks(const char* why);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_MARKS_H_
