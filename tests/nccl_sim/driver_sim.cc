// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcuda, of what rollcall asks it. Each device has one context. A test double that
// ships with nothing.
#include <cstdint>

#include "tests/nccl_sim/streams.h"

namespace {

int g_contexts[cuda_sim::kDevices] = {};  // their addresses are the handles

// Of the range that was registered last; the device sees host memory at other addresses.
constexpr uint64_t kDeviceOffset = uint64_t{1} << 40;
uint64_t g_registered = 0;
uint64_t g_registered_bytes = 0;

}  // namespace

extern "C" {

using cuda_sim::kInvalidValue;
using cuda_sim::kOk;

int cuCtxGetCurrent(void** context) {
  *context = &g_contexts[cuda_sim::CurrentDevice()];
  return kOk;
}
int cuStreamGetCtx(void* stream, void** context) {
  *context = &g_contexts[cuda_sim::DeviceOf(stream)];
  return kOk;
}
int cuStreamIsCapturing(void* stream, int* status) {
  *status = cuda_sim::CaptureStatus(stream);
  return kOk;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  *mode = cuda_sim::ExchangeThreadMode(*mode);
  return kOk;
}
int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned) {
  if (cuda_sim::Forbidden()) return cuda_sim::kCaptureUnsupported;
  if (cuda_sim::ToldToFail("register")) return cuda_sim::kNotSupported;
  g_registered = reinterpret_cast<uint64_t>(memory);
  g_registered_bytes = bytes;
  return kOk;
}
int cuMemHostGetDevicePointer_v2(uint64_t* address, void* memory, unsigned) {
  if (reinterpret_cast<uint64_t>(memory) != g_registered) return kInvalidValue;
  *address = g_registered + kDeviceOffset;
  return kOk;
}
// In a capture it becomes a part of the graph, as any work of the stream.
int cuStreamWriteValue32_v2(void* stream, uint64_t address, uint32_t value, unsigned flags) {
  const uint64_t host = address - kDeviceOffset;
  if (host < g_registered || host + 4 > g_registered + g_registered_bytes || host % 4 != 0 ||
      flags != 0) {
    return kInvalidValue;
  }
  if (cuda_sim::ToldToFail("write")) return cuda_sim::kNotSupported;
  return cuda_sim::Enqueue(stream, [host, value] {
    return [host, value] {
      __atomic_store_n(reinterpret_cast<uint32_t*>(host), value, __ATOMIC_RELEASE);
    };
  });
}

}  // extern "C"
