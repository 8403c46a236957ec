// What rollcall reads of PyTorch's objects, without its headers. What is not known for a version is
// not read. tests/faults/torch shows sizes, types, roots and reductions with the versions that
// docs/torch.md calls tested.
#ifndef ROLLCALL_SHIM_TORCH_LAYOUT_H_
#define ROLLCALL_SHIM_TORCH_LAYOUT_H_

#include <cstdint>

#include "proto/datatypes.h"
#include "shim/torch/arguments.h"

namespace rollcall::shim::torch {

// The data of a call: what all members must have as much of. `known` is false if it cannot be read
// from this PyTorch (2.0), if the tensors are of several types, or if the parts of the members
// differ, which NCCL's all_gather and reduce_scatter allow.
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
// Of its old ABI: one pointer to the text, which follows its length, its capacity and a count.
inline StringView ReadOldString(const void* string) {
  const char* text = *static_cast<const char* const*>(string);
  return {text, reinterpret_cast<const uint64_t*>(text)[-3]};
}

}  // namespace rollcall::shim::torch

#endif  // ROLLCALL_SHIM_TORCH_LAYOUT_H_
