// SPDX-License-Identifier: Apache-2.0
// Reads from Open MPI's own objects what a thread's current call waits for. Objects point to their
// class (opal/class/opal_object.h), and the classes are exported. The fields of an object are
// located by their expected content, not by the layout of a version. Data that cannot be verified
// stays unknown.
#ifndef ROLLCALL_COLLECTOR_LIVE_OPEN_MPI_CALL_H_
#define ROLLCALL_COLLECTOR_LIVE_OPEN_MPI_CALL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/live/library_call.h"
#include "collector/live/process_image.h"

namespace rollcall {

// Reads memory of the process. Not thread-safe.
class OpenMpiObjects {
 public:
  // Runtime addresses of symbols that libmpi.so exports.
  enum Export : uint8_t {
    kWorld,
    kCommunicatorClass,
    kGroupClass,
    kRequestClass,
    kCollectiveClass
  };
  static constexpr size_t kExports = 5;
  static constexpr std::array<std::string_view, kExports> kExportNames = {
      "ompi_mpi_comm_world_addr", "ompi_communicator_t_class", "ompi_group_t_class",
      "ompi_request_t_class", "ompi_coll_base_nbc_request_t_class"};

  // None if the process has no Open MPI, or an Open MPI without these exports. `image` must outlive
  // the result. `file_root`: see FindExports().
  static std::optional<OpenMpiObjects> In(const ProcessImage& image, const std::string& file_root);

  OpenMpiObjects(const ProcessMemory* memory, const std::array<uint64_t, kExports>& exports);

  // See ReadLibraryCall().
  std::optional<LibraryCall> Read(std::span<const CallFrame> frames);

 private:
  enum class Class : uint8_t { kOther, kCommunicator, kGroup, kRequest, kCollectiveRequest };
  struct Communicator {
    std::string name;
    std::vector<uint64_t> members;  // by rank: addresses of the library's process entries
    std::vector<uint64_t> peers;    // targets of ranks in calls (intercommunicator: remote group)
  };

  template <typename T>
  bool Get(uint64_t address, T* value) const {
    return memory_->Read(address, value, sizeof(*value)) == sizeof(*value);
  }
  // Reads `count` words; words beyond the end of memory are 0.
  std::vector<uint64_t> Words(uint64_t address, size_t count) const;
  Class ClassOf(uint64_t object);
  std::optional<Communicator> ReadCommunicator(uint64_t address);
  std::vector<uint64_t> ReadGroup(uint64_t address) const;
  int32_t WorldRank(uint64_t process) const;
  struct Requests {
    std::vector<uint64_t> open;     // are still waited for
    std::vector<uint64_t> arrived;  // receives that are complete
  };
  // The requests of MPI_Wait or MPI_Waitall. `frames` begins with the function that waits and
  // continues to its callers. None if the frames do not show open requests.
  Requests ReadRequests(std::span<const CallFrame> frames);
  Requests RequestsOf(uint64_t array, uint64_t stack_begin, uint64_t stack_end);
  bool IsReceive(uint64_t request) const;
  // nullptr: unknown. Owned by this object.
  const Communicator* CommunicatorOf(uint64_t request);
  void SetCommunicator(const Communicator& communicator, LibraryCall* call) const;
  void SetAwaited(const Requests& requests, LibraryCall* call);
  // The library's entry of the peer process: of the sender or of the receiver that the request
  // waits for. 0 if unknown.
  uint64_t PeerOf(uint64_t request);

  const ProcessMemory* memory_;
  const std::array<uint64_t, kExports> exports_;
  std::unordered_map<uint64_t, Class> classes_;
  std::unordered_map<uint64_t, std::optional<Communicator>> communicators_;
  size_t name_offset_ = 0;                       // in a communicator; 0: unknown, nothing is read
  std::unordered_map<uint64_t, int32_t> world_;  // ranks by process entry
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_OPEN_MPI_CALL_H_
