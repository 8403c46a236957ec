// How a wrapper of a c10d function finds its real function.
//
// PyTorch's extension module loads libtorch_cpu.so with RTLD_LOCAL, where RTLD_NEXT does not find
// it, but its references are bound in the global scope first, so that they reach the wrappers. The
// real function is looked up in the loaded object that defines it.
#ifndef ROLLCALL_SHIM_TORCH_BINDING_H_
#define ROLLCALL_SHIM_TORCH_BINDING_H_

#include <atomic>
#include <cstdint>

#include "shim/library.h"

namespace rollcall::shim::torch {

// The real function of one wrapper. Constant-initialized, one per wrapper.
struct Target {
  const char* symbol;
  std::atomic<void*> function{nullptr};

  // Null only if no loaded object defines the symbol. After the first call: one load. The first
  // call takes the loader's lock.
  void* Get() {
    void* found = function.load(std::memory_order_acquire);
    return __builtin_expect(found != nullptr, 1) ? found : Find();
  }
  void* Find();
};

// The same for a function that PyTorch and a plugin may both define. Each has its own objects: the
// real function is that of the library whose code or data is at `owner`, such as the virtual table
// of the object. Fast for the first owner only.
struct TargetOfOwner {
  Target any;
  std::atomic<const void*> first{nullptr};
  std::atomic<void*> function{nullptr};

  void* Get(const void* owner) {
    if (__builtin_expect(first.load(std::memory_order_relaxed) == owner, 1)) {
      if (void* found = function.load(std::memory_order_acquire)) return found;
    }
    return Find(owner);
  }
  void* Find(const void* owner);
};

// The address of `symbol` in libtorch_cpu.so, nullptr if it has none. Takes the loader's lock.
void* FindInTorch(const char* symbol);

// PyTorch as a Library, for the tables of requests and communicators: a Work is a request, a
// backend is a communicator. Both are addresses.
Library* TorchLibrary();

// PyTorch's MPI backend calls MPI in a thread of its own: what the user called is recorded already.
// False before SetOwnCalls().
void SetOwnCalls(const void* function);  // a function of the backend's library
bool IsOwnCall(const void* caller);

// PyTorch's version as major * 100 + minor, from its version.py or the name of libtorch_cpu.so; 0
// if unknown. Reads a file at the first call.
int TorchVersion();
// For tests, which have no PyTorch: from now on, TorchVersion() returns this.
void SetTorchVersion(int version);

}  // namespace rollcall::shim::torch

#endif  // ROLLCALL_SHIM_TORCH_BINDING_H_
