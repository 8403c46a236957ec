// SPDX-License-Identifier: Apache-2.0
// Finds the real function of a wrapper of a c10d function.
//
// PyTorch's extension module loads libtorch_cpu.so with RTLD_LOCAL. RTLD_NEXT does not find the
// library there, but the loader binds the library's references in the global scope first, where it
// finds the wrappers. The real function is therefore looked up in the loaded object that defines
// it.
#ifndef ROLLCALL_SHIM_TORCH_BINDING_H_
#define ROLLCALL_SHIM_TORCH_BINDING_H_

#include <atomic>
#include <cstdint>

#include "shim/library.h"
#include "shim/platform.h"

namespace rollcall::shim::torch {

// The real function of one wrapper. Constant-initialized, one per wrapper.
struct Target {
  const char* symbol;
  std::atomic<void*> function{nullptr};

  // Returns null only if no loaded object defines the symbol. The first call takes the loader's
  // lock; later calls cost one load.
  void* Get() {
    void* found = function.load(std::memory_order_acquire);
    return __builtin_expect(found != nullptr, 1) ? found : Find();
  }
  void* Find();
};

// The same for a function that both PyTorch and a plugin may define. Each library has objects of
// its own. The real function is that of the library that contains the address `owner`, such as the
// virtual table of the object. Fast for the first owner only.
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

// PyTorch as a Library, for the tables of requests and communicators. A Work is a request, and a
// backend is a communicator; their addresses are the handles.
Library* TorchLibrary();

// PyTorch's MPI backend calls MPI in a thread of its own. These calls are not recorded, because the
// user's call is already recorded. IsOwnCall() returns false before SetOwnCalls().
void SetOwnCalls(const void* function);  // a function of the backend's library
extern ROLLCALL_HIDDEN std::atomic<uint64_t> g_own_start, g_own_end;
inline bool IsOwnCall(const void* caller) {
  const auto word = reinterpret_cast<uint64_t>(caller);
  return __builtin_expect(word < g_own_end.load(std::memory_order_acquire), 0) &&
         word >= g_own_start.load(std::memory_order_relaxed);
}

// PyTorch's version as major * 100 + minor, from its version.py or the name of libtorch_cpu.so; 0
// if unknown. Reads a file at the first call.
int TorchVersion();
// For tests, which have no PyTorch: from now on, TorchVersion() returns this.
void SetTorchVersion(int version);

}  // namespace rollcall::shim::torch

#endif  // ROLLCALL_SHIM_TORCH_BINDING_H_
