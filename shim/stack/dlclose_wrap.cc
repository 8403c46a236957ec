// SPDX-License-Identifier: Apache-2.0
// The exported dlclose. It forgets the rules of an unloaded library, which must not be used for the
// next library at the same address. dlopen is not wrapped: its result depends on its caller's
// address, and the shim need not detect that a library is loaded.
#ifndef ROLLCALL_NO_EXPORTS

#include <dlfcn.h>

#include <atomic>

#include "shim/stack/stack.h"

// The function is not named dlclose, because <dlfcn.h> declares dlclose noexcept, and a thread that
// is cancelled in a library's destructor unwinds through this frame.
extern "C" __attribute__((visibility("default"))) int RollcallDlclose(void* handle) __asm__(
    "dlclose");

extern "C" int RollcallDlclose(void* handle) {
  using Dlclose = int (*)(void*);
  // Several threads may look it up at the same time; all find the same function.
  static std::atomic<Dlclose> next{nullptr};
  Dlclose real = next.load(std::memory_order_acquire);
  if (real == nullptr) {
    real = reinterpret_cast<Dlclose>(dlsym(RTLD_NEXT, "dlclose"));
    if (real == nullptr) return -1;
    next.store(real, std::memory_order_release);
  }
  // Before the call, because the address may be reused before it returns; after the call, because
  // destructors may have called MPI.
  rollcall::shim::OnDlclose();
  const int result = real(handle);
  rollcall::shim::OnDlclose();
  return result;
}

#endif  // ROLLCALL_NO_EXPORTS
