// SPDX-License-Identifier: Apache-2.0
// Finds the real function of a wrapper of NCCL or CUDA.
//
// Programs bind NCCL in three ways that lead to a wrapper:
//   - linked: the shim's symbol is first, the real one is next
//   - linked by an object that was loaded with RTLD_LOCAL: the real symbol is in that object's
//     scope
//   - dlopen and dlsym: dlsym_wrap.cc returns the wrapper, and stores the real function that dlsym
//     found
#ifndef ROLLCALL_SHIM_NCCL_BINDING_H_
#define ROLLCALL_SHIM_NCCL_BINDING_H_

#include <atomic>
#include <cstdint>

#include "shim/library.h"

namespace rollcall::shim::nccl {

// The real function of one wrapper. Constant-initialized, one per wrapper.
struct Target {
  const char* name;
  void* (*wrapper)();  // its address, which a constant initializer cannot hold
  std::atomic<void*> function{nullptr};

  // The function that `caller` would have reached without the shim; nullptr if there is none. After
  // the first call: one load.
  void* Get(const void* caller) {
    void* found = function.load(std::memory_order_acquire);
    return __builtin_expect(found != nullptr, 1) ? found : Find(caller);
  }
  void* Find(const void* caller);
};

// Returns the wrapper that dlsym has to return for `name` if it found `real`. Returns nullptr if
// there is no such wrapper, or if the wrapper is already bound to another copy of the function. The
// copy that was bound first keeps the wrapper; calls of a second copy are not recorded. Any thread;
// no lock.
void* WrapperFor(const char* name, void* real);
// True if `address` is the wrapper named `name`.
bool IsWrapper(const char* name, const void* address);
// Cheap test: false if no wrapper can have this name.
bool MayHaveWrapper(const char* name);

// NCCL as a Library, for the guard of call.cc. The guard needs the range of NCCL's code, which is
// known after the first communicator was created.
Library* NcclLibrary();
void SetNcclCode(const void* function);
bool IsInsideNccl(const void* address);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_BINDING_H_
