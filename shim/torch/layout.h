// SPDX-License-Identifier: Apache-2.0
// Reads PyTorch's objects without its headers. Fields whose layout is not known for a version are
// not read. tests/faults/torch checks sizes, types, roots and reductions with the versions that
// docs/torch.md lists as tested.
#ifndef ROLLCALL_SHIM_TORCH_LAYOUT_H_
#define ROLLCALL_SHIM_TORCH_LAYOUT_H_

#include <cstdint>

#include "proto/datatypes.h"
#include "shim/torch/arguments.h"

namespace rollcall::shim::torch {

// The data of a call: the elements whose number must be equal on all members. `known` is false in
// three cases: this PyTorch's tensors cannot be read (2.0), the tensors have several types, or the
// parts of the members have different sizes, which NCCL's all_gather and reduce_scatter allow.
struct TensorData {
  bool known = false;
  uint64_t count = 0;     // elements
  uint16_t datatype = 0;  // BasicType; 0: unknown
  TypeClass type_class{};
};
// Reads through PyTorch's C interface (aoti_torch_get_numel and the like), which takes no lock.
TensorData DataOf(const Arguments& arguments);

// ReduceOp of proto/operations.h; 0 if this version's layout is unknown.
uint16_t ReductionOf(const Arguments& arguments);
// The root in the group's ranks; ring::kNoPeer if there is none, or if it is unknown.
int32_t RootOf(const Arguments& arguments);

// A std::string of libstdc++'s current ABI.
struct StringView {
  const char* text;
  uint64_t length;
};
inline StringView ReadString(const void* string) {
  const auto* words = static_cast<const uint64_t*>(string);
  return {reinterpret_cast<const char*>(words[0]), words[1]};
}
// A std::string of the old ABI: one pointer to the text. Length, capacity and a reference count
// precede the text.
inline StringView ReadOldString(const void* string) {
  const char* text = *static_cast<const char* const*>(string);
  return {text, reinterpret_cast<const uint64_t*>(text)[-3]};
}

}  // namespace rollcall::shim::torch

#endif  // ROLLCALL_SHIM_TORCH_LAYOUT_H_
