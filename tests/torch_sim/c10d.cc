// SPDX-License-Identifier: Apache-2.0
// A stand-in for libtorch_cpu.so: what a process group needs of it.
#include "tests/torch_sim/c10d.h"

namespace c10d {

PrefixStore::PrefixStore(std::string prefix, c10::intrusive_ptr<Store> below)
    : prefix_(std::move(prefix)) {
  if (const std::string parent = below->Prefix(); !parent.empty()) prefix_ = parent + "/" + prefix_;
}
PrefixStore::~PrefixStore() = default;

Work::Work(int, OpType, const char*, const std::optional<Tensors>&) {}
Work::~Work() = default;
bool Work::wait(milliseconds) { return true; }

Backend::Backend(int rank, int size) : rank_(rank), size_(size) {}
Backend::~Backend() = default;

}  // namespace c10d

extern "C" {

int aoti_torch_get_numel(const at::Tensor* tensor, int64_t* numel) {
  *numel = (*tensor)->numel;
  return 0;
}
int aoti_torch_get_dtype(const at::Tensor* tensor, int32_t* type) {
  *type = (*tensor)->scalar_type;
  return 0;
}

}  // extern "C"
