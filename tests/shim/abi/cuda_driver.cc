// SPDX-License-Identifier: Apache-2.0
// Compares shim/nccl/driver.h with a real cuda.h: for each function, the name that the macro of
// cuda.h expands to, the number of parameters, and the size of each.
#include <cuda.h>

#include <cstdio>
#include <cstring>

#include "shim/nccl/driver.h"

namespace {

using rollcall::shim::nccl::Driver;

template <typename... Ours, typename... Theirs>
constexpr bool Same(int (*)(Ours...), CUresult (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
    return sizeof(CUresult) == sizeof(int) && ((sizeof(Ours) == sizeof(Theirs)) && ...);
  } else {
    return false;
  }
}

#define TEXT_OF(name) #name
#define NAME_OF(macro) TEXT_OF(macro)

const char* Ours(const char* member) {
#define X(m, name, ...) \
  if (std::strcmp(member, #m) == 0) return name;
  ROLLCALL_DRIVER(X)
#undef X
  return "";
}

int Compare(const char* member, const char* theirs) {
  if (std::strcmp(Ours(member), theirs) == 0) return 0;
  std::printf("%s: %s here, %s in cuda.h\n", member, Ours(member), theirs);
  return 1;
}

#define COMPARE(member, function)                             \
  static_assert(Same(decltype(Driver::member){}, &function)); \
  differences += Compare(#member, NAME_OF(function))

}  // namespace

int main() {
  int differences = 0;
  COMPARE(is_capturing, cuStreamIsCapturing);
  COMPARE(current_context, cuCtxGetCurrent);
  COMPARE(context_of, cuStreamGetCtx);
  COMPARE(exchange_capture_mode, cuThreadExchangeStreamCaptureMode);
  COMPARE(register_memory, cuMemHostRegister);
  COMPARE(device_address, cuMemHostGetDevicePointer);
  COMPARE(write_value, cuStreamWriteValue32);
  static_assert(CU_STREAM_CAPTURE_STATUS_NONE == 0 && CU_STREAM_CAPTURE_MODE_RELAXED == 2);
  static_assert(CU_MEMHOSTREGISTER_PORTABLE == 1 && CU_MEMHOSTREGISTER_DEVICEMAP == 2);
  static_assert(CU_STREAM_WRITE_VALUE_DEFAULT == 0 && sizeof(CUdeviceptr) == 8);
  return differences == 0 ? 0 : 1;
}
