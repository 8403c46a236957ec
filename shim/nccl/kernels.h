// SPDX-License-Identifier: Apache-2.0
// Tracks collectives on the device. NCCL's profiler reports them channel by channel: a collective
// is complete when all its channels have stopped. The resulting GpuProgress is a lower bound,
// because an operation that is not tracked never counts as complete.
//
// Thread safety: any thread; no lock, no allocation.
#ifndef ROLLCALL_SHIM_NCCL_KERNELS_H_
#define ROLLCALL_SHIM_NCCL_KERNELS_H_

#include <cstdint>

namespace rollcall::shim::nccl::kernels {

struct Collective {
  uint32_t slot;  // index in GpuProgress
  uint64_t launch;
  bool alone;         // the only operation of its launch: both complete at the same time
  uint32_t channels;  // 0: not known yet
};

// Starts to track a collective. Returns its number, which is not 0. A limited number of collectives
// is tracked: the oldest are dropped.
uint64_t Add(const Collective& collective);
// False if the collective is no longer tracked.
bool SetChannels(uint64_t number, uint32_t channels);
// A channel's start was reported: the collective is running until the channel's stop is reported.
bool ChannelStarted(uint64_t number);
void ChannelStopped(uint64_t number);

}  // namespace rollcall::shim::nccl::kernels

#endif  // ROLLCALL_SHIM_NCCL_KERNELS_H_
