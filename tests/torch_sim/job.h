// SPDX-License-Identifier: Apache-2.0
// Code of the programs of tests/faults/torch_nccl: what torch.distributed's Python does around
// ProcessGroupNCCL. They run on the stand-ins of this directory and of tests/nccl_sim, started by
// its fork_launcher.
#ifndef ROLLCALL_TESTS_TORCH_SIM_JOB_H_
#define ROLLCALL_TESTS_TORCH_SIM_JOB_H_

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/torch_sim/c10d.h"

#ifdef FAULT
inline constexpr bool kFault = true;
#else
inline constexpr bool kFault = false;
#endif

inline int Environment(const char* name) {
  const char* text = getenv(name);
  return text == nullptr ? 0 : atoi(text);
}
inline int Rank() { return Environment("RANK"); }
inline int Size() { return Environment("WORLD_SIZE"); }

// init_process_group and new_group, which name the groups 0, 1, … The safety net of
// tests/faults/fault.h.
inline c10::intrusive_ptr<c10d::ProcessGroupNCCL> NewGroup() {
  static int groups = 0;
  alarm(120);
  using c10d::PrefixStore;
  static const c10::intrusive_ptr<c10d::Store> all =
      c10::make_intrusive<PrefixStore>("default_pg", c10::make_intrusive<c10d::Store>());
  const c10::intrusive_ptr<c10d::Store> group =
      c10::make_intrusive<PrefixStore>(std::to_string(groups++) + "/", all);
  const c10::intrusive_ptr<c10d::Store> device = c10::make_intrusive<PrefixStore>("cuda/", group);
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(
      device, Rank(), Size(), c10::make_intrusive<c10d::ProcessGroupNCCL::Options>());
}

inline at::Tensor Floats(int64_t count, float value) {
  void* memory = nullptr;
  cudaMalloc(&memory, static_cast<size_t>(count) * sizeof(float));
  for (int64_t i = 0; i < count; ++i) static_cast<float*>(memory)[i] = value;
  return at::Tensor(new at::TensorImpl{memory, count, 6});
}

using Group = c10::intrusive_ptr<c10d::ProcessGroupNCCL>;
using Handle = c10::intrusive_ptr<c10d::Work>;

inline void Wait(const Handle& work) { work->wait(c10d::milliseconds(0)); }

inline void Report(const char* what, const at::Tensor& tensor) {
  cudaDeviceSynchronize();
  if (Rank() != 0) return;
  printf("%s %.6g\n", what, static_cast<double>(static_cast<float*>(tensor->data)[0]));
  fflush(stdout);
}

#endif  // ROLLCALL_TESTS_TORCH_SIM_JOB_H_
