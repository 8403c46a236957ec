// SPDX-License-Identifier: Apache-2.0
// The words of proto/torch_functions.def. Each word is a parameter, with a statement that records
// it. All parameters of these functions are references, pointers or ints, which are passed as whole
// registers or stack slots: the wrappers forward them unchanged.
#ifndef ROLLCALL_SHIM_TORCH_ROLES_H_
#define ROLLCALL_SHIM_TORCH_ROLES_H_

#include <cstdint>

#include "shim/library.h"
#include "shim/torch/arguments.h"

namespace rollcall::shim::torch::roles {

// A table with one word per line, not formatted by clang-format.
// clang-format off

// ROLE(word, statement that records `value` in `a`)
#define ROLE(word, ...)                                                                   \
  struct word {                                                                           \
    static inline void Take([[maybe_unused]] Arguments& a, [[maybe_unused]] Word value) { \
      __VA_ARGS__;                                                                        \
    }                                                                                     \
  };

ROLE(data, a.tensor = reinterpret_cast<const void*>(value))
ROLE(data_list, a.tensors = reinterpret_cast<const void*>(value))
ROLE(parts, a.parts = reinterpret_cast<const void*>(value))
ROLE(reduction, a.reduction = reinterpret_cast<const void*>(value))
ROLE(root_reduction, a.reduction = reinterpret_cast<const void*>(value); a.root_after_reduction = true)
ROLE(root_options, a.root = reinterpret_cast<const int64_t*>(value))
ROLE(peer, a.peer = static_cast<int32_t>(value))
ROLE(tag, a.tag = static_cast<int32_t>(value); if (a.peer == ring::kNoPeer) a.peer = ring::kAnySource)

// Forwarded, not recorded.
ROLE(other, (void)value)
ROLE(other2, (void)value)
ROLE(splits, (void)value)
ROLE(splits2, (void)value)
ROLE(options, (void)value)

#undef ROLE
// clang-format on

}  // namespace rollcall::shim::torch::roles

#endif  // ROLLCALL_SHIM_TORCH_ROLES_H_
