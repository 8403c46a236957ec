// What MPICH's own objects say of the call that a thread stands in. An object begins with its own
// handle, which tells its kind, and with the number of references to it (MPIR_OBJECT_HEADER,
// src/include/mpir_objects.h); where the members of a communicator are, is found by what they must
// be to each other. What cannot be checked stays unknown.
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
  // None if the process has no MPICH. `image` must outlive what is returned. `file_root`: see
  // FindExports().
  static std::optional<MpichObjects> In(const ProcessImage& image, const std::string& file_root,
                                        int32_t world_size);

  // `version`: "4.0.2".
  MpichObjects(const ProcessMemory* memory, std::string version, int32_t world_size)
      : memory_(memory), version_(std::move(version)), world_size_(world_size) {}

  // See ReadLibraryCall().
  std::optional<LibraryCall> Read(std::span<const CallFrame> frames) const;

 private:
  // Of an object of that kind.
  std::optional<uint32_t> HandleOf(uint64_t address, uint32_t what) const;
  // False if it is not one of which enough is known.
  bool ReadCommunicator(uint64_t address, LibraryCall* call) const;
  // The kind of a request that is not complete.
  std::optional<int32_t> OpenRequest(uint64_t address) const;

  const ProcessMemory* memory_;
  std::string version_;
  int32_t world_size_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_MPICH_CALL_H_
