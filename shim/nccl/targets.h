// Every wrapper of NCCL and CUDA with the function that it stands for: the list that wrappers.cc
// makes of the tables in proto/. Empty where nothing is exported (unit tests).
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
