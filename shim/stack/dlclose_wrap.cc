// dlclose, exported: rules of a library that goes must not be taken for those of the next one at
// its address. dlopen is left alone: it depends on its caller's address, and nothing has to be
// known of it.
#ifndef ROLLCALL_NO_EXPORTS

#include <dlfcn.h>

#include <atomic>

#include "shim/stack/stack.h"

// Not named dlclose here: <dlfcn.h> declares that noexcept, and a thread that is cancelled in a
// library's destructor unwinds through this frame.
extern "C" __attribute__((visibility("default"))) int RollcallDlclose(void* handle) __asm__(
    "dlclose");

extern "C" int RollcallDlclose(void* handle) {
  using Dlclose = int (*)(void*);
  // Threads may look it up at the same time; they find the same.
  static std::atomic<Dlclose> next{nullptr};
  Dlclose real = next.load(std::memory_order_acquire);
  if (real == nullptr) {
    real = reinterpret_cast<Dlclose>(dlsym(RTLD_NEXT, "dlclose"));
    if (real == nullptr) return -1;
    next.store(real, std::memory_order_release);
  }
  // Before, for the address may be taken again before the call returns; after, for destructors may
  // have called MPI meanwhile.
  rollcall::shim::OnDlclose();
  const int result = real(handle);
  rollcall::shim::OnDlclose();
  return result;
}

#endif  // ROLLCALL_NO_EXPORTS
