// SPDX-License-Identifier: Apache-2.0
// The simulated NCCL's side of the profiler plugin interface: it loads what NCCL_PROFILER_PLUGIN
// names and tells it what NCCL tells, as src/plugin/profiler.cc and plugin_open.cc of NCCL do.
// NCCL_SIM_PROFILER=n: the newest version of the interface that this NCCL knows, 7 at most.
#ifndef ROLLCALL_TESTS_NCCL_SIM_PROFILER_SIM_H_
#define ROLLCALL_TESTS_NCCL_SIM_PROFILER_SIM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/nccl_sim/nccl_api.h"

namespace nccl_sim::profiler {

struct Called {
  const char* function;  // "AllReduce"
  bool message;
  size_t count;
  ncclDataType_t type;
  int root_or_peer;
  cudaStream_t stream;
  bool captured;
};

// One communicator of one rank; null where there is no plugin.
struct Comm;
std::shared_ptr<Comm> Init(const std::string& name, int nranks, int rank);
void Finalize(std::shared_ptr<Comm>* comm);

// One operation on its way; null where nobody is told of it.
struct Task;
using Tasks = std::vector<std::shared_ptr<Task>>;

// In the caller's thread, `depth` groups deep with the one around each call.
std::shared_ptr<Task> Call(const std::shared_ptr<Comm>& comm, const Called& called, int depth);
// The outermost group of this thread ends: before anything is launched, and after.
void GroupEnds();
void GroupEnded();
// What one kernel does has gone to the device.
void Launched(const Tasks& tasks);
// The same of a graph's, each time that one is launched, from a thread of the driver's. Only ranks
// that have network work to hand on are called then: here, those of even rank.
void Replayed(const Tasks& tasks);
// On the device.
void KernelStarts(const std::shared_ptr<Task>& task);
void KernelStops(const std::shared_ptr<Task>& task);

}  // namespace nccl_sim::profiler

#endif  // ROLLCALL_TESTS_NCCL_SIM_PROFILER_SIM_H_
