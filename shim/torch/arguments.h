// SPDX-License-Identifier: Apache-2.0
// The parameters of a c10d function, as assigned by their roles (roles.h).
#ifndef ROLLCALL_SHIM_TORCH_ARGUMENTS_H_
#define ROLLCALL_SHIM_TORCH_ARGUMENTS_H_

#include <cstdint>

#include "proto/ring_format.h"

namespace rollcall::shim::torch {

struct Arguments {
  const void* backend = nullptr;      // `this`
  const void* tensor = nullptr;       // at::Tensor*: data whose size is equal on all members
  const void* tensors = nullptr;      // std::vector<at::Tensor>*: the same, as a list
  const void* parts = nullptr;        // std::vector<std::vector<at::Tensor>>*: one per member
  const void* reduction = nullptr;    // an options struct that begins with a c10d::ReduceOp
  const int64_t* root = nullptr;      // an options struct that begins with the root
  bool root_after_reduction = false;  // in `reduction`, the root follows the ReduceOp
  int32_t peer = ring::kNoPeer;
  int32_t tag = ring::kNoTag;
};

}  // namespace rollcall::shim::torch

#endif  // ROLLCALL_SHIM_TORCH_ARGUMENTS_H_
