// Collectives on the device, as NCCL's profiler reports them channel by channel: a collective is
// complete when all its channels have stopped. The resulting GpuProgress is a lower bound: an
// untracked operation is not known to be complete, and never the other way round.
//
// Thread safety: any thread; no lock, no allocation.
#ifndef ROLLCALL_SHIM_NCCL_KERNELS_H_
#define ROLLCALL_SHIM_NCCL_KERNELS_H_

#include <cstdint>

namespace rollcall::shim::nccl::kernels {

struct Collective {
  uint32_t slot;  // of GpuProgress
  uint64_t launch;
  bool alone;         // nothing else is of this launch: when it is complete, the launch is
  uint32_t channels;  // 0: not known yet
};

// Its number, not 0. The number of tracked collectives is limited: the oldest are dropped.
uint64_t Add(const Collective& collective);
// False if it is no longer tracked.
bool SetChannels(uint64_t number, uint32_t channels);
// A channel that was reported to start has not stopped until that is reported, too.
bool ChannelStarted(uint64_t number);
void ChannelStopped(uint64_t number);

}  // namespace rollcall::shim::nccl::kernels

#endif  // ROLLCALL_SHIM_NCCL_KERNELS_H_
