// SPDX-License-Identifier: Apache-2.0
#include "collector/live/mpich_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "collector/live/exported_symbols.h"

namespace rollcall {
namespace {

// The bits of a handle: how the object is stored, and its kind (src/include/mpir_objects.h).
constexpr uint32_t kWorldHandle = 0x44000000;
constexpr uint32_t How(uint32_t handle) { return handle >> 30; }
constexpr uint32_t What(uint32_t handle) { return (handle >> 26) & 0xf; }
constexpr uint32_t kBuiltin = 1;
constexpr uint32_t kIsCommunicator = 1;
constexpr uint32_t kIsRequest = 11;
constexpr int32_t kMaxReferences = 1 << 20;
constexpr int32_t kMaxRequestKinds = 64;

constexpr size_t kCommunicatorBytes = 256;
constexpr uint64_t kRequestKind = 8;
constexpr uint64_t kRequestCompletion = 16;  // a pointer to a counter that becomes 0

// The numbering of MPIR_Request_kind_t changes between versions; these values were observed.
struct RequestKinds {
  std::string_view version;
  int32_t persistent;
  int32_t collective;
};
constexpr RequestKinds kRequestKinds[] = {{"4.0", 5, 10}};

constexpr size_t Aligned(size_t offset) { return (offset + 7) / 8 * 8; }

template <typename T>
T At(const std::array<char, kCommunicatorBytes>& bytes, size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

bool MayBePointer(uint64_t word) { return word == 0 || (word % 8 == 0 && word >= 4096); }

}  // namespace

std::optional<MpichObjects> MpichObjects::In(const ProcessImage& image,
                                             const std::string& file_root, int32_t world_size) {
  constexpr std::array<std::string_view, 1> kNames = {"MPII_Version_string"};
  for (const LoadedModule& module : image.modules()) {
    const std::string_view file = std::string_view(module.path).substr(module.path.rfind('/') + 1);
    if (!file.starts_with("libmpich.so") && !file.starts_with("libmpi.so")) continue;
    std::array<uint64_t, 1> found{};
    std::array<char, 16> version{};
    FindExports(module, file_root, kNames, found);
    if (found[0] == 0) continue;
    image.memory().Read(found[0] + module.bias, version.data(), version.size() - 1);
    return MpichObjects(&image.memory(), version.data(), world_size);
  }
  return std::nullopt;
}

std::optional<uint32_t> MpichObjects::HandleOf(uint64_t address, uint32_t what) const {
  struct {
    uint32_t handle;
    int32_t references;
  } head{};
  const bool sound = address % 8 == 0 &&
                     memory_->Read(address, &head, sizeof(head)) == sizeof(head) &&
                     How(head.handle) != 0 && What(head.handle) == what && head.references > 0 &&
                     head.references <= kMaxReferences;
  return sound ? std::optional(head.handle) : std::nullopt;
}

// The fields are context_id, recvcontext_id, remote_size, rank, attributes, local_size,
// local_group, remote_group, comm_kind. In an intracommunicator both sizes and both contexts are
// equal.
bool MpichObjects::ReadCommunicator(uint64_t address, LibraryCall* call) const {
  std::array<char, kCommunicatorBytes> bytes{};
  const std::optional<uint32_t> handle = HandleOf(address, kIsCommunicator);
  if (!handle) return false;
  if (memory_->Read(address, bytes.data(), bytes.size()) != bytes.size()) return false;
  for (size_t at = 12; at + 64 <= bytes.size(); at += 4) {
    const size_t local_size = Aligned(at + 8) + 8;
    const size_t groups = Aligned(local_size + 4);
    const auto size = At<int32_t>(bytes, at);
    const auto rank = At<int32_t>(bytes, at + 4);
    const auto context = At<uint16_t>(bytes, at - 4);
    const bool fits =
        size > 0 && rank >= 0 && rank < size && At<int32_t>(bytes, local_size) == size &&
        At<uint16_t>(bytes, at - 2) == context &&
        MayBePointer(At<uint64_t>(bytes, Aligned(at + 8))) &&
        MayBePointer(At<uint64_t>(bytes, groups)) &&
        MayBePointer(At<uint64_t>(bytes, groups + 8)) && At<int32_t>(bytes, groups + 16) == 0;
    if (!fits) continue;
    const bool world = *handle == kWorldHandle;
    call->communicator = world ? "MPI_COMM_WORLD" : fmt::format("context id {:#x}", context);
    if (size == world_size_) call->member_runs = {0, size - 1};
    return true;
  }
  return false;
}

// Built-in requests are always complete. A variable of the user that holds a request also begins
// with a handle, so the completion pointer is checked, too.
std::optional<int32_t> MpichObjects::OpenRequest(uint64_t address) const {
  const std::optional<uint32_t> handle = HandleOf(address, kIsRequest);
  int32_t kind = 0;
  uint64_t completion = 0;
  int32_t open = 0;
  const auto read = [this](uint64_t at, auto* value) {
    return memory_->Read(at, value, sizeof(*value)) == sizeof(*value);
  };
  if (!handle || How(*handle) == kBuiltin || !read(address + kRequestKind, &kind) ||
      !read(address + kRequestCompletion, &completion) || !read(completion, &open)) {
    return std::nullopt;
  }
  const bool sound = kind > 0 && kind < kMaxRequestKinds && open > 0 && open < kMaxReferences;
  return sound ? std::optional(kind) : std::nullopt;
}

std::optional<LibraryCall> MpichObjects::Read(std::span<const CallFrame> frames) const {
  if (frames.size() < 2) return std::nullopt;
  // A collective may consist of others on internal communicators: only the outermost function has
  // the caller's communicator.
  const size_t call_frame = frames.size() - 2;
  LibraryCall call;
  int communicators = 0;
  for (const uint64_t word : ChangedRegisters(frames[call_frame], frames[call_frame + 1])) {
    communicators += ReadCommunicator(word, &call);
  }
  if (communicators != 1) return std::nullopt;
  // If a call waits for several requests, any of them may already be complete.
  const std::string_view function = frames[call_frame].function;
  if (function != "PMPI_Wait" && function != "MPI_Wait") return call;
  std::vector<int32_t> kinds;
  for (size_t i = call_frame + 1; i-- > 0 && kinds.empty();) {
    for (const uint64_t word : ChangedRegisters(frames[i], frames[i + 1])) {
      if (const auto kind = OpenRequest(word)) kinds.push_back(*kind);
    }
  }
  const auto row = std::ranges::find_if(
      kRequestKinds, [this](const RequestKinds& one) { return version_.starts_with(one.version); });
  call.of_collective = kinds.size() == 1 && row != std::end(kRequestKinds) &&
                       (kinds[0] == row->persistent || kinds[0] == row->collective);
  return call;
}

}  // namespace rollcall
