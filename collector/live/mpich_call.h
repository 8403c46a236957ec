// SPDX-License-Identifier: Apache-2.0
// Reads from MPICH's own objects what a thread's current call waits for. An object begins with its
// handle, which encodes its kind, and its reference count (MPIR_OBJECT_HEADER,
// src/include/mpir_objects.h). The fields of a communicator are located by their mutual relations.
// Data that cannot be verified stays unknown.
#ifndef ROLLCALL_COLLECTOR_LIVE_MPICH_CALL_H_
#define ROLLCALL_COLLECTOR_LIVE_MPICH_CALL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "collector/live/library_call.h"
#include "collector/live/process_image.h"

namespace rollcall {

// Reads memory of the process.
class MpichObjects {
 public:
  // None if the process has no MPICH. `image` must outlive the result. `file_root`: see
  // FindExports().
  static std::optional<MpichObjects> In(const ProcessImage& image, const std::string& file_root,
                                        int32_t world_size);

  // `version`: "4.0.2".
  MpichObjects(const ProcessMemory* memory, std::string version, int32_t world_size)
      : memory_(memory), version_(std::move(version)), world_size_(world_size) {}

  // See ReadLibraryCall().
  std::optional<LibraryCall> Read(std::span<const CallFrame> frames) const;

 private:
  // The handle of the object at `address`, if it is of kind `what`.
  std::optional<uint32_t> HandleOf(uint64_t address, uint32_t what) const;
  // False if it is no communicator, or too little of it is known.
  bool ReadCommunicator(uint64_t address, LibraryCall* call) const;
  // The kind of the request if it is not complete.
  std::optional<int32_t> OpenRequest(uint64_t address) const;

  const ProcessMemory* memory_;
  std::string version_;
  int32_t world_size_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_MPICH_CALL_H_
