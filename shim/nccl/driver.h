// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA driver that the shim itself calls. They are those of the libcuda that
// the application has loaded: the shim is not linked with libcuda and never loads it.
//
// The types do not come from cuda.h, which is not needed. tests/shim/abi compares them with cuda.h.
#ifndef ROLLCALL_SHIM_NCCL_DRIVER_H_
#define ROLLCALL_SHIM_NCCL_DRIVER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "proto/device_streams.h"
#include "shim/loaded_object.h"
#include "shim/nccl/binding.h"

namespace rollcall::shim::nccl {

// X(member, name exported by the driver, parameters...). Result 0 is success. The names are those
// to which cuda.h's macros expand. Without its suffix, cuStreamWriteValue32 is an interface that
// drivers refuse unless an option of their kernel module is set.
#define ROLLCALL_DRIVER(X)                                                                  \
  X(is_capturing, "cuStreamIsCapturing", void* stream, int* status)                         \
  X(current_context, "cuCtxGetCurrent", void** context)                                     \
  X(context_of, "cuStreamGetCtx", void* stream, void** context)                             \
  X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", int* mode)                  \
  X(register_memory, "cuMemHostRegister_v2", void* memory, size_t bytes, unsigned flags)    \
  X(device_address, "cuMemHostGetDevicePointer_v2", uint64_t* address, void* memory,        \
    unsigned flags)                                                                         \
  X(write_value, "cuStreamWriteValue32_v2", void* stream, uint64_t address, uint32_t value, \
    unsigned flags)

// A function that this driver does not have is nullptr.
struct Driver {
#define X(member, name, ...) int (*member)(__VA_ARGS__) = nullptr;
  ROLLCALL_DRIVER(X)
#undef X

  bool complete() const {
#define X(member, ...) member != nullptr&&
    return ROLLCALL_DRIVER(X) true;
#undef X
  }
};

// Constant-initialised; all null until FindDriver() has found one.
extern Driver g_driver;

// Looks for the driver, once. Call it when a communicator exists, so that NCCL has loaded the
// driver. Any thread; makes system calls and takes the loader's lock; keeps errno.
void FindDriver();
// True once g_driver may be read.
extern std::atomic<bool> g_driver_found;
// The range of the driver's code; false if it was not found.
bool FindDriverCode(CodeRange* range);

// True if operations that the calling thread now enqueues on `stream` (device_streams.h) are
// captured into a graph instead. False if this is unknown. NCCL makes the same query for every
// stream, so this query adds nothing that could block or break a capture.
bool IsCaptured(uint64_t stream);

}  // namespace rollcall::shim::nccl

#endif  // ROLLCALL_SHIM_NCCL_DRIVER_H_
