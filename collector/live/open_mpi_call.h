// What Open MPI's own objects say of the call that a thread stands in. Its objects tell their class
// (opal/class/opal_object.h), and the classes are exported; where members of an object are, is
// found by what must be there, not by a version's layout. What cannot be checked stays unknown.
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
  // Runtime addresses of what libmpi.so exports.
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

  // None if the process has no Open MPI, or one that does not export these. `image` must outlive
  // what is returned. `file_root`: see FindExports().
  static std::optional<OpenMpiObjects> In(const ProcessImage& image, const std::string& file_root);

  OpenMpiObjects(const ProcessMemory* memory, const std::array<uint64_t, kExports>& exports);

  // `frames`: innermost first, the function of MPI that was called last, and then its caller.
  std::optional<LibraryCall> Read(std::span<const CallFrame> frames);

 private:
  enum class Class : uint8_t { kOther, kCommunicator, kGroup, kRequest, kCollectiveRequest };
  struct Communicator {
    std::string name;
    std::vector<uint64_t> members;  // by rank: the library's entries of the processes
    std::vector<uint64_t> peers;    // whom a rank of a call means; of an intercommunicator, others
  };

  template <typename T>
  bool Get(uint64_t address, T* value) const {
    return memory_->Read(address, value, sizeof(*value)) == sizeof(*value);
  }
  // Null-filled where memory ends.
  std::vector<uint64_t> Words(uint64_t address, size_t count) const;
  Class ClassOf(uint64_t object);
  std::optional<Communicator> ReadCommunicator(uint64_t address);
  std::vector<uint64_t> ReadGroup(uint64_t address) const;
  int32_t WorldRank(uint64_t process) const;
  void SetCommunicator(const Communicator& communicator, LibraryCall* call) const;
  void SetAwaited(uint64_t request, const Communicator& communicator, LibraryCall* call) const;

  const ProcessMemory* memory_;
  const std::array<uint64_t, kExports> exports_;
  std::unordered_map<uint64_t, Class> classes_;
  size_t name_offset_ = 0;                       // in a communicator; 0: unknown, and nothing is
  std::unordered_map<uint64_t, int32_t> world_;  // ranks by entry
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_OPEN_MPI_CALL_H_
