// SPDX-License-Identifier: Apache-2.0
// The list of all wrappers of NCCL and CUDA functions, which wrappers.cc makes from the tables in
// proto/. Empty if nothing is exported (unit tests).
#ifndef ROLLCALL_SHIM_NCCL_TARGETS_H_
#define ROLLCALL_SHIM_NCCL_TARGETS_H_

#include <cstdint>

#include "shim/nccl/binding.h"

namespace rollcall::shim::nccl {

struct TargetList {
  Target* const* targets;
  uint32_t count;
};
TargetList AllTargets();

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_TARGETS_H_
