// How a wrapper of NCCL or CUDA comes to the function that it stands for.
//
// Programs bind NCCL in three ways that lead here: linked (our symbol comes first, the real one is
// next), linked by something that was loaded with RTLD_LOCAL (the real one is in that object's own
// scope), and dlopen with dlsym (dlsym_wrap.cc gives out the wrapper, and knows the real one from
// then on).
#ifndef ROLLCALL_SHIM_NCCL_BINDING_H_
#define ROLLCALL_SHIM_NCCL_BINDING_H_

#include <atomic>
#include <cstdint>

#include "shim/library.h"

namespace rollcall::shim::nccl {

// One wrapper's way to the real function. Constant-initialised, one per wrapper.
struct Target {
  const char* name;
  void* (*wrapper)();  // its address, which no constant initialiser can hold
  std::atomic<void*> function{nullptr};

  // The function that `caller` would have reached without us; nullptr if there is none. After the
  // first call: one load.
  void* Get(const void* caller) {
    void* found = function.load(std::memory_order_acquire);
    return __builtin_expect(found != nullptr, 1) ? found : Find(caller);
  }
  void* Find(const void* caller);
};

// What the wrapper named `name` may be given out for where dlsym found `real`; nullptr if there is
// no such wrapper, or if it stands for another copy of the function already: one that was bound
// first keeps the wrapper, and the second goes unrecorded but works. Any thread; no lock.
void* WrapperFor(const char* name, void* real);
// Whether `address` is the wrapper named `name` itself.
bool IsWrapper(const char* name, const void* address);
// Whether a name can have a wrapper at all: the cheap question.
bool MayHaveWrapper(const char* name);

// NCCL as a Library for the guard of call.cc, which asks for its code's range: known from the first
// communicator on.
Library* NcclLibrary();
void LearnNccl(const void* function);
bool IsInsideNccl(const void* address);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_BINDING_H_
