// SPDX-License-Identifier: Apache-2.0
#include "shim/nccl/driver.h"

#include <dlfcn.h>

#include "shim/platform.h"

namespace rollcall::shim::nccl {

constinit Driver g_driver;
constinit std::atomic<bool> g_driver_found{false};

namespace {
CodeRange g_code;  // valid once g_driver_found is true
}  // namespace

bool FindDriverCode(CodeRange* range) {
  if (!g_driver_found.load(std::memory_order_acquire)) return false;
  *range = g_code;
  return range->end != 0;
}

void FindDriver() {
  static std::atomic_flag looked = ATOMIC_FLAG_INIT;
  if (looked.test_and_set(std::memory_order_acquire)) return;
  const ErrnoGuard keeper;
  // The handle is never closed: the pointers must stay valid, and drivers are not unloaded anyway.
  void* library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return;
#define X(member, name, ...) *reinterpret_cast<void**>(&g_driver.member) = dlsym(library, name);
  ROLLCALL_DRIVER(X)
#undef X
  g_code = RangeAt(reinterpret_cast<const void*>(g_driver.is_capturing));
  g_driver_found.store(true, std::memory_order_release);
}

bool IsCaptured(uint64_t stream) {
  constexpr int kNotCapturing = 0;  // CU_STREAM_CAPTURE_STATUS_NONE
  // The legacy stream cannot be captured.
  if (stream <= ring::kLegacyStream || !g_driver_found.load(std::memory_order_acquire))
    return false;
  if (ring::IsOwnStream(stream)) stream = ring::kPerThreadStream;
  int status = kNotCapturing;
  if (g_driver.is_capturing == nullptr ||
      g_driver.is_capturing(reinterpret_cast<void*>(stream), &status) != 0) {
    return false;
  }
  return status != kNotCapturing;
}

}  // namespace rollcall::shim::nccl
